import type { AspectRatio, ImageFacts, ImageParameters } from '../../domain/images.ts';

/** Models with the same request fields. Each model has its own API. These are the common forms. */
export interface Family {
  /** How the shape is sent. */
  shape: 'image_size' | 'aspect_ratio';
  /** The field of references. Undefined if the model accepts none. */
  reference?: 'image_url' | 'image_urls';
  /** Path suffix after the model's name, with references and without. */
  suffix?: { withReferences?: string; without?: string };
  facts: ImageFacts;
}

const ratios: readonly AspectRatio[] = [
  ...(['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9', '9:21'] as const),
];

const passthrough = [
  'enable_safety_checker',
  'safety_tolerance',
  'guidance_scale',
  'num_inference_steps',
  'negative_prompt',
  'acceleration',
  'enable_prompt_expansion',
  'style',
  'colors',
];

interface Traits {
  shape: Family['shape'];
  /** Maximum number of images of one request. */
  max: number;
  /** Maximum number of references, and their field. */
  references?: { max: number; field: NonNullable<Family['reference']> };
  suffix?: Family['suffix'];
  more?: ImageParameters;
}

function family({ shape, max, references, suffix, more }: Traits): Family {
  const parameters: ImageParameters = {
    ...(max > 1 && { n: { type: 'range', min: 1, max: max } }),
    aspect_ratio: { type: 'enum', values: ratios },
    ...(shape === 'image_size' && {
      size: { type: 'range', min: 256, max: 2048 },
      resolution: { type: 'enum', values: ['512', '1K', '2K'] },
    }),
    output_format: { type: 'enum', values: ['jpeg', 'png'] },
    seed: { type: 'boolean' },
    ...(references && { input_references: { type: 'range', min: 0, max: references.max } }),
    ...more,
  };
  return {
    shape,
    ...(references && { reference: references.field }),
    ...(suffix && { suffix }),
    facts: { parameters, passthrough, streams: false, pricing: undefined },
  };
}

/** The family of a model that matches no other family. */
export const defaultFamily = family({ shape: 'image_size', max: 4 });

const edits = { withReferences: '/edit' };
const flux2 = family({
  shape: 'image_size',
  max: 1,
  references: { max: 8, field: 'image_urls' },
  suffix: edits,
});

/** Families by a pattern of the model's name. The first match applies. */
const families: readonly (readonly [RegExp, Family])[] = [
  [/\/edit$/, family({ shape: 'image_size', max: 4, references: { max: 8, field: 'image_urls' } })],
  [/\/image-to-image$/, family({ shape: 'image_size', max: 4, references: { max: 1, field: 'image_url' } })],
  [
    /\/text-to-vector$/,
    family({ shape: 'image_size', max: 1, more: { output_format: { type: 'enum', values: ['svg'] } } }),
  ],
  [/\/flux-2-(?:pro|max|flex)$/, flux2],
  [
    /\/nano-banana(?:-\w+)?$/,
    family({
      shape: 'aspect_ratio',
      max: 4,
      references: { max: 10, field: 'image_urls' },
      suffix: edits,
      more: { output_format: { type: 'enum', values: ['png', 'jpeg', 'webp'] } },
    }),
  ],
  [
    /\/flux-pro\/kontext(?:\/max)?$/,
    family({
      shape: 'aspect_ratio',
      max: 4,
      references: { max: 1, field: 'image_url' },
      suffix: { without: '/text-to-image' },
    }),
  ],
  [/\/flux-pro\/v1\.1-ultra$/, family({ shape: 'aspect_ratio', max: 4 })],
  [/\/imagen4(?:\/|$)/, family({ shape: 'aspect_ratio', max: 4 })],
];

export const findFamily = (model: string): Family => families.find(([name]) => name.test(model))?.[1] ?? defaultFamily;
