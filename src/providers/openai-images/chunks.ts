import type { ImageChunk, ImageFinishChunk } from '../../domain/images.ts';
import { special, type Usage, usage } from '../../domain/usage.ts';
import { decodeImage } from '../kit/image-text.ts';
import type { Frame, Reader } from '../wire.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import type { ReaderContext } from './request.ts';
import { isUsage, readEvent, readWholeBody, type ImagesApiUsage } from './wire.ts';

/** Reads a stream: `image_generation.*` for a generation, `image_edit.*` for a generation with references. */
export function createImageReader({ count }: ReaderContext): Reader<ImageChunk> {
  let made = 0;
  let shown = 0;
  let isOver = false;
  let used: Usage | undefined;

  function finish(): ImageChunk[] {
    isOver = true;
    return [{ type: 'finish', ...(used && { usage: used }) }];
  }

  function read({ data, event: name }: Frame): ImageChunk[] {
    if (isOver || data === '[DONE]') return [];
    const event = readEvent(data, name);
    switch (event.type.replace(/^image_(?:generation|edit)\./, '')) {
      case 'partial_image':
        return [{ type: 'partial', index: readIndex(event, shown++), bytes: decodeImage(event.b64_json) }];
      case 'completed': {
        made++;
        if (isUsage(event.usage)) used = addUsage(used, readUsage(event.usage));
        const image: ImageChunk = { type: 'image', bytes: decodeImage(event.b64_json) };
        return made === count ? [image, ...finish()] : [image];
      }
      case 'error':
        throw readUpstreamErrorObject(event.error ?? event, 200);
      default:
        if (event.error) throw readUpstreamErrorObject(event.error, 200);
        return []; // unknown events are not errors
    }
  }

  return {
    read,
    /** A provider may return fewer images than requested. */
    end: () => (made > 0 && !isOver ? finish() : []),
  };
}

/** Reads a buffered response. Its images are base64 or URLs. */
export function readWholeImage(body: unknown): ImageChunk[] {
  const { error } = (body ?? {}) as { error?: unknown }; // checked below
  if (error) throw readUpstreamErrorObject(error, 200);
  const { data, usage: told } = readWholeBody(body);
  const images = data.map(({ b64_json: text, url }): ImageChunk => {
    if (typeof url === 'string' && !text) return { type: 'image_link', url };
    return { type: 'image', bytes: decodeImage(text) };
  });
  const finish: ImageFinishChunk = { type: 'finish' };
  if (isUsage(told)) finish.usage = readUsage(told);
  if (data.some(({ revised_prompt: revised }) => revised)) finish.dropped = ['revised_prompt'];
  return [...images, finish];
}

/** @param place index of the partial image in the stream, used if the provider's index is invalid */
function readIndex({ partial_image_index: told }: ReturnType<typeof readEvent>, place: number): number {
  return typeof told === 'number' && Number.isSafeInteger(told) && told >= 0 ? told : place;
}

function readUsage(wire: ImagesApiUsage): Usage {
  const inputTokens = wire.input_tokens ?? 0;
  const outputTokens = wire.output_tokens ?? 0;
  const counts = special({
    inputImageTokens: wire.input_tokens_details?.image_tokens ?? 0,
    outputImageTokens: wire.output_tokens_details?.image_tokens ?? outputTokens,
  });
  return usage({
    inputTokens,
    outputTokens,
    totalTokens: wire.total_tokens ?? inputTokens + outputTokens,
    cachedTokens: wire.input_tokens_details?.cached_tokens ?? 0,
    ...(counts && { special: counts }),
  });
}

/** Adds up usage, because each image of a stream reports its own. */
function addUsage(before: Usage | undefined, more: Usage): Usage {
  if (!before) return more;
  const counts = special({
    inputImageTokens: (before.special?.inputImageTokens ?? 0) + (more.special?.inputImageTokens ?? 0),
    outputImageTokens: (before.special?.outputImageTokens ?? 0) + (more.special?.outputImageTokens ?? 0),
  });
  return usage({
    inputTokens: before.inputTokens + more.inputTokens,
    outputTokens: before.outputTokens + more.outputTokens,
    totalTokens: before.totalTokens + more.totalTokens,
    cachedTokens: before.cachedTokens + more.cachedTokens,
    ...(counts && { special: counts }),
  });
}
