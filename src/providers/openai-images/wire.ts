import { type Static, Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import { parseUpstream } from '../kit/invalid-data.ts';

const count = Type.Optional(Type.Union([Type.Number(), Type.Null()]));

/** Token counts of the images API. */
const usage = Type.Object({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_tokens_details: Type.Optional(
    Type.Union([Type.Object({ text_tokens: count, image_tokens: count, cached_tokens: count }), Type.Null()]),
  ),
  output_tokens_details: Type.Optional(
    Type.Union([Type.Object({ image_tokens: count, text_tokens: count }), Type.Null()]),
  ),
});
export type ImagesApiUsage = Static<typeof usage>;

/** Checked separately, so that invalid counts do not discard an image. */
const maybeUsage = Type.Optional(Type.Unknown());
const maybeText = Type.Optional(Type.Union([Type.String(), Type.Null()]));

const whole = Type.Object({
  data: Type.Array(Type.Object({ b64_json: maybeText, url: maybeText, revised_prompt: maybeText })),
  usage: maybeUsage,
});

const event = Type.Object({
  type: maybeText,
  b64_json: maybeText,
  partial_image_index: Type.Optional(Type.Unknown()),
  usage: maybeUsage,
  error: Type.Optional(Type.Unknown()),
});

const wholeCheck = createCheck(whole);
const eventCheck = createCheck(event);
const usageCheck = createCheck(usage);

export const isUsage = (value: unknown): value is ImagesApiUsage => usageCheck(value);

/** @throws {TypeError} if a field that is read has another shape */
export const readWholeBody = (body: unknown): Static<typeof whole> => {
  if (wholeCheck(body)) return body;
  throw new TypeError('The body is not a list of images.');
};

/**
 * @param name the `event:` line; some servers send the type only there
 * @throws {TypeError} if a field that is read has another shape
 */
export const readEvent = (data: string, name: string): Static<typeof event> & { type: string } => {
  const parsed = parseUpstream(data);
  if (eventCheck(parsed)) return { ...parsed, type: parsed.type ?? name };
  throw new TypeError('The event is not an event of an image.');
};
