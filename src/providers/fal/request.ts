import { type EndpointImageRequest, type EncodedImage, pixelsOf } from '../../domain/images.ts';
import type { ImageUpstreamRequest } from '../image-wire.ts';
import { writePathPart } from '../kit/path-part.ts';
import type { PollDialect } from '../kit/poll-dialect.ts';
import type { Target } from '../wire.ts';
import { type Family, findFamily } from './families.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  pollMs: number;
}

/**
 * Translates a request. References are sent as data URLs.
 *
 * @throws {GatewayError} `invalid_request` if the name of the model would change the path
 * @see https://fal.ai/models, the page of each model
 */
export function writeImageRequest(
  request: EndpointImageRequest,
  target: Target,
  dialect: PollDialect,
): ImageUpstreamRequest<ReaderContext> {
  const family = findFamily(target.upstreamModel);
  const body: Record<string, unknown> = { prompt: request.prompt, ...writeShape(request, family) };
  if (request.count > 1) body['num_images'] = request.count;
  if (request.seed !== undefined) body['seed'] = request.seed;
  if (request.format !== undefined && request.format !== 'svg') body['output_format'] = request.format;
  if (request.references.length > 0) {
    const urls = request.references.map(writeDataUrl);
    if (family.reference === 'image_url') body['image_url'] = urls[0];
    else body['image_urls'] = urls;
  }
  for (const [name, value] of Object.entries(request.passthrough)) body[name] ??= value; // interface fields win
  const { withReferences = '', without = '' } = family.suffix ?? {};
  return {
    path: writePath(target) + (request.references.length > 0 ? withReferences : without),
    body,
    dropped: [],
    readerContext: { pollMs: dialect.poll_ms },
  };
}

function writeShape(
  { size, aspectRatio, resolution }: EndpointImageRequest,
  { shape }: Family,
): Record<string, unknown> {
  if (aspectRatio === 'auto') return {};
  if (shape === 'aspect_ratio') return aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio };
  if (size) return { image_size: size };
  if (aspectRatio === undefined && resolution === undefined) return {};
  const { width, height } = pixelsOf(aspectRatio, resolution);
  const scale = Math.min(1, 2048 / Math.max(width, height));
  return { image_size: { width: Math.round(width * scale), height: Math.round(height * scale) } };
}

const writeDataUrl = ({ bytes, mediaType }: EncodedImage): string =>
  `data:${mediaType};base64,${bytes.toString('base64')}`;

/** Encodes a name, which may have several parts: `fal-ai/flux/dev`. */
const writePath = (target: Target): string =>
  target.upstreamModel
    .split('/')
    .map((part) => writePathPart(part, target))
    .join('');
