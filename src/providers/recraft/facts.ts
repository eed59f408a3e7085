import type { AspectRatio, ImageFacts, ImageParameters } from '../../domain/images.ts';

const ratios: readonly AspectRatio[] = [
  ...(['1:1', '2:1', '1:2', '3:2', '2:3', '4:3', '3:4', '5:4', '4:5', '16:9', '9:16'] as const),
];

/** The landscape formats of each generation. Portrait formats swap width and height. */
const landscapes = {
  v4: ['1024x1024', '1536x768', '1280x832', '1216x896', '1152x896', '1344x832', '1280x896', '1344x768'],
  pro: ['2048x2048', '3072x1536', '2560x1664', '2432x1792', '2304x1792', '2688x1664', '2560x1792', '2688x1536'],
  v3: ['1024x1024', '2048x1024', '1536x1024', '1365x1024', '1280x1024', '1707x1024', '1434x1024', '1820x1024'],
} as const;

const withPortraits = (sizes: readonly string[]): string[] => [
  ...new Set([...sizes, ...sizes.map((size) => size.split('x').reverse().join('x'))]),
];

/** Whether a model precedes the fourth generation. Such models support styles, negative prompts and references. */
const isOld = (model: string): boolean => /^recraftv[23](?:_|$)/.test(model);

/** Whether a model draws vectors. A vector model accepts only a ratio. Other models have their own sizes. */
export const isVector = (model: string): boolean => /_vector$/.test(model);

/** Returns the capabilities of a model by its name. */
export function readImageFacts(model: string): ImageFacts {
  const isPro = /_pro(?:_|$)/.test(model);
  const shape: ImageParameters = isVector(model)
    ? { output_format: { type: 'enum', values: ['svg'] } }
    : {
        size: { type: 'enum', values: withPortraits(landscapes[isOld(model) ? 'v3' : isPro ? 'pro' : 'v4']) },
        resolution: { type: 'enum', values: [isPro ? '2K' : '1K'] },
        output_format: { type: 'enum', values: ['png', 'webp'] },
      };
  return {
    parameters: {
      n: { type: 'range', min: 1, max: 6 },
      aspect_ratio: { type: 'enum', values: ratios },
      seed: { type: 'boolean' },
      ...shape,
      ...(/^recraftv3(?:_|$)/.test(model) && { input_references: { type: 'range', min: 0, max: 1 } }),
    },
    passthrough: [
      'style',
      'style_id',
      'style_match',
      'controls',
      ...(isOld(model) ? ['substyle', 'negative_prompt', 'text_layout', 'strength'] : []),
    ],
    streams: false,
    pricing: undefined,
  };
}
