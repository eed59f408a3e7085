import { type EndpointImageRequest, writePixelSize } from '../../domain/images.ts';
import type { ImageUpstreamRequest } from '../image-wire.ts';
import type { Target } from '../wire.ts';
import { isVector } from './facts.ts';

/**
 * Default of `strength`: how far an image may differ from its reference, from 0 to 1. The provider has no default.
 */
const USUAL_STRENGTH = 0.5;

/**
 * Translates a request: to `/images/generations`, or with a reference to `/images/imageToImage`, which keeps its shape.
 *
 * @see https://www.recraft.ai/docs/api-reference/endpoints
 */
export function writeImageRequest(request: EndpointImageRequest, target: Target): ImageUpstreamRequest<undefined> {
  const { references, size, aspectRatio } = request;
  const dropped: string[] = [];
  const body: Record<string, unknown> = {
    model: target.upstreamModel,
    prompt: request.prompt,
    response_format: 'b64_json',
  };
  if (request.count > 1) body['n'] = request.count;
  if (request.seed !== undefined) {
    if (request.seed >= 0 && request.seed < 2 ** 32) body['random_seed'] = request.seed;
    else dropped.push('seed');
  }
  if (request.format !== undefined && !isVector(target.upstreamModel)) body['image_format'] = request.format;
  const reference = references[0];
  const shape = size ? writePixelSize(size) : aspectRatio;
  if (!reference) {
    if (shape !== undefined && shape !== 'auto') body['size'] = shape;
  } else {
    if (shape !== undefined && shape !== 'auto') dropped.push(size ? 'size' : 'aspect_ratio');
    body['image_url'] = `data:${reference.mediaType};base64,${reference.bytes.toString('base64')}`;
    body['strength'] = request.passthrough['strength'] ?? USUAL_STRENGTH;
  }
  for (const [name, value] of Object.entries(request.passthrough)) {
    if (name !== 'strength') body[name] ??= value; // interface fields win
  }
  return {
    path: reference ? '/images/imageToImage' : '/images/generations',
    body,
    dropped,
    readerContext: undefined,
  };
}
