import type { ImageMediaType } from '../../domain/images.ts';
import type { CompletedImageEvent, WireImageUsage } from '../../domain/image-events.ts';
import type { ImageShape, ImageText } from '../../http/image-shape.ts';
import type { OpenAIImageOutput } from '../../requests/images/openai.ts';
import { writeOpenAIFailure } from '../openai-errors.ts';

/** The formats by media type. */
const formats: Record<ImageMediaType, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/svg+xml': 'svg',
};

/**
 * The images of `POST /images/generations` and `/images/edits`: every field that OpenAI's clients require, with the
 * additions of the gateway.
 *
 * @param settings.hasNumber whether the code of an error is its status
 * @see docs/reference/images.md#the-paths-of-openai
 */
export function createOpenAIShape(
  { prefix, partialImages, hasUrls, background, quality, size }: OpenAIImageOutput,
  { hasNumber }: { hasNumber: boolean },
): ImageShape {
  const writeImage = ({ image }: CompletedImageEvent): ImageText =>
    hasUrls
      ? { head: `"url":"data:${image.mediaType};base64,`, bytes: image.bytes, tail: '"' }
      : { head: '"b64_json":"', bytes: image.bytes, tail: '"' };
  const describe = ({ image }: CompletedImageEvent) => ({
    background,
    output_format: formats[image.mediaType],
    quality,
    size: image.width === undefined || image.height === undefined ? size : `${image.width}x${image.height}`,
  });
  const start = (type: string): string => `event: ${type}\ndata: {"type":"${type}","b64_json":"`;
  return {
    writeEvent(event) {
      switch (event.type) {
        case 'image_generation.text_chunk':
          return undefined;
        case 'image_generation.partial_image': {
          const { bytes, partial_image_index: index } = event;
          if (index >= partialImages) return undefined;
          const rest = { partial_image_index: index, created_at: 0, background, output_format: 'png', quality, size };
          return { head: start(`${prefix}.partial_image`), bytes, tail: `",${JSON.stringify(rest).slice(1)}\n\n` };
        }
        case 'image_generation.completed': {
          const rest = {
            created_at: event.created,
            ...describe(event),
            usage: writeUsage(event.usage),
            router_metadata: event.routerMetadata,
          };
          return {
            head: start(`${prefix}.completed`),
            bytes: event.image.bytes,
            tail: `",${JSON.stringify(rest).slice(1)}\n\n`,
          };
        }
      }
    },
    writeFailure: (thrown) =>
      `event: error\ndata: ${JSON.stringify({ type: 'error', error: writeOpenAIFailure(thrown, hasNumber) })}\n\n`,
    writeEntry(event) {
      const { head, bytes, tail } = writeImage(event);
      return { head: `{${head}`, bytes: bytes!, tail: `${tail},"media_type":"${event.image.mediaType}"}` };
    },
    writeBody: (last) => ({
      before: { created: last?.created ?? 0 },
      after: {
        ...(last && omitAuto(describe(last))),
        usage: last && writeUsage(last.usage),
        router_metadata: last?.routerMetadata,
      },
    }),
  };
}

/** Omits the word `auto`. The types of events have it, but those of whole bodies only have what was chosen. */
const omitAuto = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== 'auto'));

/** Counts that are unknown are 0, because typed clients require them. */
function writeUsage(usage: WireImageUsage | undefined): object {
  const {
    prompt_tokens: input = 0,
    completion_tokens: output = 0,
    total_tokens: total = 0,
    prompt_tokens_details: inputDetails,
    completion_tokens_details: outputDetails,
    ...rest
  } = usage ?? {};
  const image = inputDetails?.image_tokens ?? 0;
  const outputImage = outputDetails?.image_tokens ?? output;
  return {
    input_tokens: input,
    input_tokens_details: { image_tokens: image, text_tokens: Math.max(0, input - image) },
    output_tokens: output,
    output_tokens_details: { image_tokens: outputImage, text_tokens: Math.max(0, output - outputImage) },
    total_tokens: total,
    ...rest,
  };
}
