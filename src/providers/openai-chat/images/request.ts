import { type EndpointImageRequest, writePixelSize } from '../../../domain/images.ts';
import type { ImageUpstreamRequest } from '../../image-wire.ts';
import type { Target } from '../../wire.ts';
import { readDialect } from '../dialect.ts';
import type { ChatMessage } from '../wire.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  /** Number of requested images. */
  count: number;
}

/**
 * Translates a request into the body of `POST /chat/completions`. The prompt is a user message, followed by the
 * references.
 *
 * @see https://openrouter.ai/docs/guides/overview/multimodal/image-generation
 */
export function writeImageRequest(request: EndpointImageRequest, target: Target): ImageUpstreamRequest<ReaderContext> {
  const dialect = readDialect(target.dialect);
  const dropped: string[] = [];
  const { image_config: ownConfig, ...sampling } = request.passthrough;
  const body: Record<string, unknown> = { ...sampling, model: target.upstreamModel, messages: [writeMessage(request)] };
  body.modalities = target.imagesOnly ? ['image'] : ['image', 'text'];
  if (ownConfig !== undefined && !isMap(ownConfig)) dropped.push('image_config');
  const config = { ...(isMap(ownConfig) ? ownConfig : undefined), ...writeConfig(request) };
  if (Object.keys(config).length > 0) body.image_config = config;
  if (request.count > 1) body.n = request.count;
  if (request.seed !== undefined) body.seed = request.seed;
  if (target.endUser !== undefined) {
    if (dialect.omit.includes('user')) dropped.push('user');
    else body.user = target.endUser;
  }
  if (target.stream) {
    body.stream = true;
    if (dialect.stream_usage) body.stream_options = { include_usage: true };
  }
  return { path: '/chat/completions', body, dropped, readerContext: { count: request.count } };
}

function writeMessage({ prompt, references }: EndpointImageRequest): ChatMessage {
  if (references.length === 0) return { role: 'user', content: prompt };
  const images = references.map(({ bytes, mediaType }) => ({
    type: 'image_url' as const,
    image_url: { url: `data:${mediaType};base64,${bytes.toString('base64')}` },
  }));
  return { role: 'user', content: [{ type: 'text', text: prompt }, ...images] };
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the settings of a request. They take precedence over those of its options. */
function writeConfig(request: EndpointImageRequest): Record<string, unknown> {
  const asked = {
    size: request.size && writePixelSize(request.size),
    aspect_ratio: request.aspectRatio,
    image_size: request.resolution,
    quality: request.quality,
    output_format: request.format,
    output_compression: request.compression,
    background: request.background,
  };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}
