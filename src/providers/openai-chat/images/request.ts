import { type ImageAsk, writeSize } from '../../../domain/images.ts';
import type { ImageUpstreamRequest } from '../../image-wire.ts';
import type { Target } from '../../provider.ts';
import { readDialect } from '../dialect.ts';
import type { ChatMessage } from '../wire.ts';

/** What the reader must know of the request. */
export interface Reading {
  /** Pictures that were asked for. */
  count: number;
}

/**
 * Translates a request into the body of `POST /chat/completions`: the prompt is what the user says, with the references
 * behind it.
 *
 * @see https://openrouter.ai/docs/guides/overview/multimodal/image-generation
 */
export function writeImageRequest(ask: ImageAsk, target: Target): ImageUpstreamRequest<Reading> {
  const dialect = readDialect(target.dialect);
  const dropped: string[] = [];
  const { image_config: ownConfig, ...sampling } = ask.passthrough;
  const body: Record<string, unknown> = { ...sampling, model: target.upstreamModel, messages: [writeMessage(ask)] };
  body.modalities = target.picturesOnly ? ['image'] : ['image', 'text'];
  if (ownConfig !== undefined && !isMap(ownConfig)) dropped.push('image_config');
  const config = { ...(isMap(ownConfig) ? ownConfig : undefined), ...writeConfig(ask) };
  if (Object.keys(config).length > 0) body.image_config = config;
  if (ask.count > 1) body.n = ask.count;
  if (ask.seed !== undefined) body.seed = ask.seed;
  if (target.endUser !== undefined) {
    if (dialect.omit.includes('user')) dropped.push('user');
    else body.user = target.endUser;
  }
  if (target.stream) {
    body.stream = true;
    if (dialect.stream_usage) body.stream_options = { include_usage: true };
  }
  return { path: '/chat/completions', body, dropped, reading: { count: ask.count } };
}

function writeMessage({ prompt, references }: ImageAsk): ChatMessage {
  if (references.length === 0) return { role: 'user', content: prompt };
  const pictures = references.map(({ bytes, mediaType }) => ({
    type: 'image_url' as const,
    image_url: { url: `data:${mediaType};base64,${bytes.toString('base64')}` },
  }));
  return { role: 'user', content: [{ type: 'text', text: prompt }, ...pictures] };
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a request says, which counts before what its options say. */
function writeConfig(ask: ImageAsk): Record<string, unknown> {
  const asked = {
    size: ask.size && writeSize(ask.size),
    aspect_ratio: ask.aspectRatio,
    image_size: ask.resolution,
    quality: ask.quality,
    output_format: ask.format,
    output_compression: ask.compression,
    background: ask.background,
  };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}
