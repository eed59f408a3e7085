import { type Static, Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ImageChunk } from '../../domain/images.ts';
import type { Poll } from '../image-wire.ts';
import { decodeImage } from '../kit/image-text.ts';
import { readErrorObject } from './errors.ts';
import type { ReaderContext } from './request.ts';

const maybe = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const file = Type.Object({ url: Type.String() });

/** The queue status (`status` and URLs), or the result (`images`, or one `image`). */
const answer = Type.Object({
  status: maybe(Type.String()),
  status_url: maybe(Type.String()),
  response_url: maybe(Type.String()),
  error: maybe(Type.Unknown()),
  error_type: maybe(Type.String()),
  images: maybe(Type.Array(file)),
  image: maybe(file),
  has_nsfw_concepts: maybe(Type.Array(Type.Unknown())),
  seed: Type.Optional(Type.Unknown()),
});
type WireAnswer = Static<typeof answer>;

const responseCheck = createCheck(answer);

/** Reads the queue status, and finally the result. */
export function readWholeImage(body: unknown, { pollMs }: ReaderContext): ImageChunk[] | Poll {
  if (!responseCheck(body)) throw new TypeError('The body is neither a position in the queue nor a result.');
  const { status, status_url: statusUrl, response_url: responseUrl, error } = body;
  const files = body.images ?? (body.image ? [body.image] : undefined);
  if (files) return readResult(files, body);
  if (typeof status !== 'string') throw new TypeError('The result has no images.');
  if (error) throw readErrorObject(body);
  switch (status) {
    case 'COMPLETED':
      if (typeof responseUrl !== 'string') throw new TypeError('The result is ready, but its URL is missing.');
      return { type: 'poll', afterMs: 0, url: responseUrl };
    case 'FAILED':
    case 'CANCELED':
    case 'CANCELLED':
      throw readErrorObject({ ...body, detail: `The request has the status ${status}.` });
    default: // `IN_QUEUE`, `IN_PROGRESS`
      return { type: 'poll', afterMs: pollMs, ...(typeof statusUrl === 'string' && { url: statusUrl }) };
  }
}

/** Reads the images of a result. The provider replaces an image that fails its check with a black one. */
function readResult(files: NonNullable<WireAnswer['images']>, body: WireAnswer): ImageChunk[] {
  const shown = files.filter((_, index) => body.has_nsfw_concepts?.[index] !== true);
  if (shown.length === 0 && files.length > 0) {
    throw new GatewayError('content_policy', 'The provider refused the content: its check blackened the image.');
  }
  const images = shown.map(({ url }): ImageChunk => {
    return url.startsWith('data:') ? { type: 'image', bytes: decodeImage(url) } : { type: 'image_link', url };
  });
  const dropped = [
    ...(typeof body.seed === 'number' ? ['seed'] : []),
    ...(shown.length < files.length ? ['images (blackened)'] : []),
  ];
  return [...images, { type: 'finish', ...(dropped.length > 0 && { dropped }) }];
}
