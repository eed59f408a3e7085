import { type ImageAsk, writeSize } from '../../domain/images.ts';
import type { ImageUpstreamRequest } from '../image-wire.ts';
import type { Target } from '../provider.ts';
import { isVector } from './facts.ts';

/** How far a picture may go from its reference, from 0 to 1, where nobody says; the provider has no default. */
const USUAL_STRENGTH = 0.5;

/**
 * Translates a request: to `/images/generations`, or with a reference to `/images/imageToImage`, which keeps its shape.
 *
 * @see https://www.recraft.ai/docs/api-reference/endpoints
 */
export function writeImageRequest(ask: ImageAsk, target: Target): ImageUpstreamRequest<undefined> {
  const { references, size, aspectRatio } = ask;
  const dropped: string[] = [];
  const body: Record<string, unknown> = {
    model: target.upstreamModel,
    prompt: ask.prompt,
    response_format: 'b64_json',
  };
  if (ask.count > 1) body['n'] = ask.count;
  if (ask.seed !== undefined) {
    if (ask.seed >= 0 && ask.seed < 2 ** 32) body['random_seed'] = ask.seed;
    else dropped.push('seed');
  }
  if (ask.format !== undefined && !isVector(target.upstreamModel)) body['image_format'] = ask.format;
  const reference = references[0];
  const shape = size ? writeSize(size) : aspectRatio;
  if (!reference) {
    if (shape !== undefined && shape !== 'auto') body['size'] = shape;
  } else {
    if (shape !== undefined && shape !== 'auto') dropped.push(size ? 'size' : 'aspect_ratio');
    body['image_url'] = `data:${reference.mediaType};base64,${reference.bytes.toString('base64')}`;
    body['strength'] = ask.passthrough['strength'] ?? USUAL_STRENGTH;
  }
  for (const [name, value] of Object.entries(ask.passthrough)) {
    if (name !== 'strength') body[name] ??= value; // what the interface says counts
  }
  return {
    path: reference ? '/images/imageToImage' : '/images/generations',
    body,
    dropped,
    reading: undefined,
  };
}
