import { type EndpointImageRequest, type PixelSize, pixelsOf, writePixelSize } from '../../domain/images.ts';
import type { ImageUpstreamRequest } from '../image-wire.ts';
import { writePathPart } from '../kit/path-part.ts';
import type { PollDialect } from '../kit/poll-dialect.ts';
import type { Target } from '../wire.ts';
import { findFamily, type Grid } from './families.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  pollMs: number;
}

/**
 * Translates a request. References are sent as base64.
 *
 * @throws {GatewayError} `invalid_request` if the name of the model would change the path
 * @see https://docs.bfl.ai/api-reference
 */
export function writeImageRequest(
  request: EndpointImageRequest,
  target: Target,
  dialect: PollDialect,
): ImageUpstreamRequest<ReaderContext> {
  const { shape, reference } = findFamily(target.upstreamModel);
  const dropped: string[] = [];
  const body: Record<string, unknown> = { prompt: request.prompt };
  if (shape === 'ratio') {
    if (request.aspectRatio !== undefined && request.aspectRatio !== 'auto') body['aspect_ratio'] = request.aspectRatio;
  } else {
    const wanted = sizeOf(request);
    const size = wanted && fitGrid(wanted, shape);
    if (size) {
      body['width'] = size.width;
      body['height'] = size.height;
      if (request.size && writePixelSize(size) !== writePixelSize(request.size))
        dropped.push(`size (→ ${writePixelSize(size)})`);
    }
  }
  if (request.seed !== undefined) body['seed'] = request.seed;
  if (request.format !== undefined) body['output_format'] = request.format;
  for (const [index, { bytes }] of request.references.entries()) {
    body[index === 0 ? reference : `${reference}_${index + 1}`] = bytes.toString('base64');
  }
  for (const [name, value] of Object.entries(request.passthrough)) body[name] ??= value; // interface fields win
  return {
    path: writePathPart(target.upstreamModel, target),
    body,
    dropped,
    readerContext: { pollMs: dialect.poll_ms },
  };
}

/** @returns undefined if the model chooses the size; it uses the shape of the reference, if there is one */
function sizeOf({ size, aspectRatio, resolution, references }: EndpointImageRequest): PixelSize | undefined {
  if (size) return size;
  if (aspectRatio !== undefined && aspectRatio !== 'auto') return pixelsOf(aspectRatio, resolution);
  if (resolution === undefined) return undefined;
  const square = pixelsOf(undefined, resolution);
  const { width, height } = references[0] ?? {};
  if (width === undefined || height === undefined) return square;
  const scale = Math.sqrt((square.width * square.height) / (width * height));
  return { width: width * scale, height: height * scale };
}

/** Returns the nearest size on the grid. Keeps the shape within the minimum and maximum edge. */
export function fitGrid({ width, height }: PixelSize, { step, min, max, area }: Grid): PixelSize {
  const scale = Math.min(1, Math.sqrt(area / (width * height)), max / Math.max(width, height));
  const edge = (pixels: number, round: (value: number) => number): number =>
    Math.min(
      Math.floor(max / step) * step,
      Math.max(Math.ceil(min / step) * step, round((pixels * scale) / step) * step),
    );
  const nearest = { width: edge(width, Math.round), height: edge(height, Math.round) };
  if (nearest.width * nearest.height <= area) return nearest;
  return { width: edge(width, Math.floor), height: edge(height, Math.floor) };
}
