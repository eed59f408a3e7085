import type { EndpointImageRequest } from '../../../domain/images.ts';
import type { ImageUpstreamRequest } from '../../image-wire.ts';
import type { Target } from '../../wire.ts';
import { writePath } from '../path.ts';
import type { GeminiContent } from '../wire.ts';
import { needsWords } from './models.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  /** Number of requested images. */
  count: number;
}

/** The format that the models produce by default. */
const USUAL_SIZE = '1K';

/**
 * Translates a request into the body of `generateContent`. A streamed request asks for the thoughts, too, because they
 * contain the drafts of the image.
 */
export function writeImageRequest(request: EndpointImageRequest, target: Target): ImageUpstreamRequest<ReaderContext> {
  const { prompt, aspectRatio, resolution, references, seed, passthrough } = request;
  const { safetySettings, thinkingConfig, ...sampling } = passthrough;
  const imageConfig: Record<string, unknown> = {};
  if (aspectRatio !== undefined) imageConfig.aspectRatio = aspectRatio;
  if (resolution !== undefined && resolution !== USUAL_SIZE) imageConfig.imageSize = resolution;

  const config: Record<string, unknown> = { ...sampling };
  config.responseModalities = needsWords(target.upstreamModel) ? ['TEXT', 'IMAGE'] : ['IMAGE'];
  if (Object.keys(imageConfig).length > 0) config.imageConfig = imageConfig;
  if (seed !== undefined) config.seed = seed;
  // If a setting of the provider is not an object, the provider reports the problem.
  const isMap = typeof thinkingConfig === 'object' && thinkingConfig !== null;
  if (thinkingConfig !== undefined) config.thinkingConfig = thinkingConfig;
  if (target.stream && (isMap || thinkingConfig === undefined)) {
    config.thinkingConfig = { ...(thinkingConfig as object | undefined), includeThoughts: true };
  }

  const turn: GeminiContent = { role: 'user', parts: [{ text: prompt }] };
  for (const { bytes, mediaType } of references) {
    turn.parts.push({ inlineData: { mimeType: mediaType, data: bytes.toString('base64') } });
  }
  const body: Record<string, unknown> = { contents: [turn], generationConfig: config };
  if (safetySettings !== undefined) body.safetySettings = safetySettings;
  return { path: writePath(target), body, dropped: listPlaceless(request), readerContext: { count: request.count } };
}

/** Lists set fields that the protocol lacks. They are set only if the operator declares support for them. */
function listPlaceless({ count, size, quality, format, compression, background }: EndpointImageRequest): string[] {
  const asked = { size, quality, output_format: format, output_compression: compression, background };
  const names = Object.entries(asked).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  return count > 1 ? ['n', ...names] : names;
}
