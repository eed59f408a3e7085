import type { AspectRatio, ImageFacts, ImageParameters } from '../../domain/images.ts';

/** The constraints on width and height, in pixels. */
export interface Grid {
  /** Width and height are multiples of this. */
  step: number;
  min: number;
  max: number;
  /** Maximum number of pixels of the image. */
  area: number;
}

/** Models with the same request fields. */
export interface Family {
  /** How the shape is sent: as pixels on a grid or as a ratio. */
  shape: Grid | 'ratio';
  /** Field of the first reference. The others are `<name>_2`, `<name>_3`. */
  reference: 'input_image' | 'image_prompt';
  facts: ImageFacts;
}

/** Ratios of whole numbers from 3:7 to 7:3. */
const ratios: readonly AspectRatio[] = [
  ...(['auto', '1:1', '1:2', '2:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4'] as const),
  ...(['9:16', '16:9', '9:20', '20:9', '9:21', '21:9'] as const),
];

const formats = { type: 'enum', values: ['jpeg', 'png'] } as const;

const describe = (parameters: ImageParameters, passthrough: readonly string[]): ImageFacts => ({
  parameters: { output_format: formats, seed: { type: 'boolean' }, ...parameters },
  // Never `webhook_url`: the provider would send the image to the caller's URL without a check.
  passthrough: ['safety_tolerance', ...passthrough],
  streams: false,
  pricing: undefined,
});

const flux2 = (references: number, passthrough: readonly string[]): Family => ({
  shape: { step: 16, min: 64, max: 4096, area: 2048 * 2048 },
  reference: 'input_image',
  facts: describe(
    {
      size: { type: 'range', min: 64, max: 4096 },
      aspect_ratio: { type: 'enum', values: ratios },
      resolution: { type: 'enum', values: ['512', '1K', '2K'] },
      input_references: { type: 'range', min: 0, max: references },
    },
    passthrough,
  ),
});

const kontext: Family = {
  shape: 'ratio',
  reference: 'input_image',
  facts: describe(
    {
      aspect_ratio: { type: 'enum', values: ratios },
      resolution: { type: 'enum', values: ['1K'] },
      output_format: { type: 'enum', values: ['png', 'jpeg'] },
      input_references: { type: 'range', min: 0, max: 4 },
    },
    ['prompt_upsampling'],
  ),
};

const ultra: Family = {
  shape: 'ratio',
  reference: 'image_prompt',
  facts: describe(
    {
      aspect_ratio: { type: 'enum', values: ratios.filter((ratio) => ratio !== 'auto') },
      resolution: { type: 'enum', values: ['2K'] },
      input_references: { type: 'range', min: 0, max: 1 },
    },
    ['prompt_upsampling', 'raw', 'image_prompt_strength'],
  ),
};

const flux1: Family = {
  shape: { step: 32, min: 256, max: 1440, area: 1440 * 1440 },
  reference: 'image_prompt',
  facts: describe(
    {
      size: { type: 'range', min: 256, max: 1440 },
      aspect_ratio: { type: 'enum', values: ratios.filter((ratio) => ratio !== 'auto') },
      resolution: { type: 'enum', values: ['512', '1K'] },
      input_references: { type: 'range', min: 0, max: 1 },
    },
    ['prompt_upsampling', 'steps', 'guidance', 'interval'],
  ),
};

/** The family of unknown models. */
export const newestFamily = flux2(8, ['prompt_upsampling', 'disable_pup']);

/** Families by the prefix of the model's name. The first match applies. */
const families: readonly (readonly [string, Family])[] = [
  ['flux-2-klein', flux2(4, [])],
  ['flux-2-flex', flux2(8, ['prompt_upsampling', 'steps', 'guidance'])],
  ['flux-kontext', kontext],
  ['flux-pro-1.1-ultra', ultra],
  ['flux-pro', flux1],
  ['flux-dev', flux1],
];

export const findFamily = (model: string): Family =>
  families.find(([name]) => model.startsWith(name))?.[1] ?? newestFamily;
