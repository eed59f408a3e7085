import { type Static, Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import type { ImageChunk, ImageFinishChunk } from '../../domain/images.ts';
import { usage } from '../../domain/usage.ts';
import { decodeImage } from '../kit/image-text.ts';

/** The provider counts in units. A dollar has 1000 units. */
const NANO_USD_PER_UNIT = 1_000_000;

const maybeText = Type.Optional(Type.Union([Type.String(), Type.Null()]));

const whole = Type.Object({
  data: Type.Array(Type.Object({ b64_json: maybeText, url: maybeText, revised_prompt: maybeText })),
  /** In units. */
  credits: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
});
const wholeCheck = createCheck(whole);

/** Reads a response. The markup of an SVG is base64 like any image, or at a URL. */
export function readWholeImage(body: unknown): ImageChunk[] {
  if (!wholeCheck(body)) throw new TypeError('The body is not a list of images.');
  const images = body.data.map(({ b64_json: text, url }): ImageChunk => {
    return typeof url === 'string' && !text ? { type: 'image_link', url } : { type: 'image', bytes: decodeImage(text) };
  });
  return [...images, finish(body)];
}

function finish({ credits, data }: Static<typeof whole>): ImageFinishChunk {
  const chunk: ImageFinishChunk = { type: 'finish' };
  if (typeof credits === 'number' && credits > 0) {
    const upstreamCostNanoUsd = Math.round(credits * NANO_USD_PER_UNIT);
    chunk.usage = usage({ inputTokens: 0, outputTokens: 0, upstreamCostNanoUsd });
  }
  if (data.some(({ revised_prompt: revised }) => revised)) chunk.dropped = ['revised_prompt'];
  return chunk;
}
