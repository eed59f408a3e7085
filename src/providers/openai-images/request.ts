import { type EndpointImageRequest, type EncodedImage, writePixelSize } from '../../domain/images.ts';
import type { FormField, ImageUpstreamRequest } from '../image-wire.ts';
import type { Target } from '../wire.ts';
import type { Dialect } from './dialect.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  /** Number of requested images. A stream ends after that many. */
  count: number;
}

/**
 * Translates a request: JSON to `/images/generations`, or a form to `/images/edits` if there are references.
 *
 * @see https://platform.openai.com/docs/api-reference/images
 */
export function writeImageRequest(
  request: EndpointImageRequest,
  target: Target,
  dialect: Dialect,
): ImageUpstreamRequest<ReaderContext> {
  const dropped: string[] = [];
  const fields: Record<string, unknown> = { model: target.upstreamModel, prompt: request.prompt };
  if (request.count > 1) fields['n'] = request.count;
  const size = request.size ? writePixelSize(request.size) : undefined;
  const wanted = {
    size,
    quality: request.quality,
    output_format: request.format,
    output_compression: request.compression,
    background: request.background,
    user: target.endUser,
  };
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) fields[name] = value;
  if (dialect.response_format) fields['response_format'] = 'b64_json';
  if (target.stream) {
    fields['stream'] = true;
    fields['partial_images'] = dialect.partial_images;
  }
  for (const [name, value] of Object.entries(request.passthrough)) fields[name] ??= value; // interface fields win
  for (const name of dialect.omit) {
    if (!(name in fields)) continue;
    delete fields[name];
    dropped.push(name);
  }
  if (request.seed !== undefined) dropped.push('seed'); // the protocol has no such field
  const readerContext = { count: request.count };
  if (request.references.length === 0) return { path: '/images/generations', body: fields, dropped, readerContext };
  return { path: '/images/edits', body: writeForm(fields, request.references), dropped, readerContext };
}

/** Several images use one field name, as in PHP. */
function writeForm(fields: Record<string, unknown>, references: readonly EncodedImage[]): FormField[] {
  const texts = Object.entries(fields).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }));
  const name = references.length === 1 ? 'image' : 'image[]';
  const files = references.map(({ bytes, mediaType }, index) => ({
    name,
    value: { bytes, mediaType, fileName: `reference-${index + 1}.${mediaType.replace('image/', '')}` },
  }));
  return [...texts, ...files];
}
