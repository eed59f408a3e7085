import type { AspectRatio, ImageFacts, Resolution } from '../../../domain/images.ts';

const usualRatios: readonly AspectRatio[] = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];
const allRatios: readonly AspectRatio[] = [...usualRatios, '1:4', '4:1', '1:8', '8:1'];

interface Family {
  ratios: readonly AspectRatio[];
  sizes: readonly Resolution[];
  /** Maximum number of reference images. */
  references: number;
  /** Whether the model returns its drafts while it thinks. */
  thinks: boolean;
}

/**
 * Facts by the prefix of the model's name. The first match applies. Source: the provider's guide to images, 2026-11.
 */
const families: readonly [RegExp, Family][] = [
  [/^gemini-2/, { ratios: usualRatios, sizes: ['1K'], references: 3, thinks: false }],
  [/^gemini-3\.\d+-flash-lite-image/, { ratios: usualRatios, sizes: ['1K'], references: 14, thinks: true }],
  [/^gemini-3\.\d+-flash-image/, { ratios: allRatios, sizes: ['512', '1K', '2K', '4K'], references: 14, thinks: true }],
  [/^gemini-nano-banana/, { ratios: allRatios, sizes: ['1K', '2K', '4K'], references: 14, thinks: true }],
];

const usual: Family = { ratios: usualRatios, sizes: ['1K', '2K', '4K'], references: 14, thinks: true };

/** Returns the capabilities of a model by its name. */
export function readImageFacts(upstreamModel: string): ImageFacts {
  const name = upstreamModel.replace(/^.*\//, '');
  const { ratios, sizes, references, thinks } = families.find(([pattern]) => pattern.test(name))?.[1] ?? usual;
  return {
    parameters: {
      aspect_ratio: { type: 'enum', values: ratios },
      resolution: { type: 'enum', values: sizes },
      input_references: { type: 'range', min: 0, max: references },
      seed: { type: 'boolean' },
    },
    passthrough: ['safetySettings', 'thinkingConfig', 'temperature', 'topP'],
    streams: thinks,
    pricing: undefined,
  };
}

/** Whether the model needs text output to generate images, as the first image models do. */
export const needsWords = (upstreamModel: string): boolean => /^(?:.*\/)?gemini-2\.0/.test(upstreamModel);
