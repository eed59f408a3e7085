import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { aspectRatios, backgrounds, imageFormats, qualities, resolutions } from '../../domain/images.ts';
import { anyObject, mapOf, maybe, mediaUrl, oneOf, trace } from '../../schema/shapes.ts';
import { providerNameList, providerSort } from '../responses/schema/plugins.ts';
import { maxIdCharacters } from '../session-header.ts';

/** @see docs/reference/images.md#request-body; other keys are named in the metadata, like those of the body */
const providerPreferences = Type.Object({
  only: maybe(providerNameList()),
  ignore: maybe(providerNameList()),
  order: maybe(providerNameList()),
  sort: maybe(providerSort),
  allow_fallbacks: maybe(Type.Boolean()),
  options: Type.Optional(mapOf(anyObject())),
});

const reference = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({ url: mediaUrl }),
});

/**
 * The body of `POST /images`. Open: unknown top-level fields are ignored and named in the metadata. `check.ts` has
 * the rules that need more than one field.
 *
 * @see docs/reference/images.md#request-body
 */
export const imageSchema = Type.Object({
  model: Type.String({ minLength: 1 }),
  prompt: Type.String({ minLength: 1 }),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  aspect_ratio: Type.Optional(oneOf(...aspectRatios)),
  resolution: Type.Optional(oneOf(...resolutions)),
  size: Type.Optional(
    Type.String({ documented: { pattern: `^(?:${resolutions.join('|')}|[1-9]\\d{1,4}x[1-9]\\d{1,4})$` } }),
  ),
  quality: Type.Optional(oneOf(...qualities)),
  output_format: Type.Optional(oneOf(...imageFormats)),
  output_compression: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  background: Type.Optional(oneOf(...backgrounds)),
  input_references: Type.Optional(Type.Array(reference, { maxItems: 16 })),
  seed: Type.Optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stream: Type.Optional(Type.Boolean()),
  provider: Type.Optional(providerPreferences),
  session_id: Type.Optional(Type.String({ maxLength: maxIdCharacters })),
  user: Type.Optional(Type.String({ maxLength: maxIdCharacters })),
  trace: Type.Optional(trace),
});

/** A body whose every field has its shape. */
export type ImageBody = Static<typeof imageSchema>;

export const knownImageFields: ReadonlySet<string> = new Set(Object.keys(imageSchema.properties));

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. `explain-issues.ts` explains the problems. */
export const isImageBody = createLenientCheck(imageSchema);
