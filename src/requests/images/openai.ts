import { Type } from 'typebox';
import { invalidRequest } from '../../domain/errors.ts';
import { backgrounds, imageFormats, qualities } from '../../domain/images.ts';
import type { FormPart } from '../../domain/form-part.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { isObject } from '../../schema/by-kind.ts';
import { oneOf } from '../../schema/shapes.ts';
import { imageSchema } from './schema.ts';

/** Values of the request that the response repeats or depends on. */
export interface OpenAIImageOutput {
  /** The beginning of the names of events. */
  prefix: 'image_generation' | 'image_edit';
  /** The maximum number of partial images of a stream. */
  partialImages: number;
  /** Whether images are data URLs in `url`, instead of `b64_json`. */
  hasUrls: boolean;
  background: string;
  quality: string;
  size: string;
}

/** The fields that both paths of OpenAI have. */
const { input_references: _references, ...common } = imageSchema.properties;
const shared = {
  ...common,
  background: Type.Optional(oneOf(...backgrounds)),
  output_format: Type.Optional(oneOf(...imageFormats)),
  partial_images: Type.Optional(Type.Integer({ minimum: 0, maximum: 3 })),
  quality: Type.Optional(oneOf(...qualities, 'standard', 'hd')),
  response_format: Type.Optional(oneOf('b64_json', 'url')),
};

/** The body of `POST /images/generations`. @see docs/reference/images.md#the-paths-of-openai */
export const generationSchema = Type.Object(shared);

/** An object in a part of a form. */
const jsonText = Type.Optional(Type.String({ description: 'A JSON object.' }));

/** The form of `POST /images/edits`. A form with one image has a list of one. */
export const editForm = Type.Object({
  ...shared,
  provider: jsonText,
  trace: jsonText,
  image: Type.Array(Type.String({ format: 'binary' }), { minItems: 1, maxItems: 16 }),
});

/** Names of OpenAI's older models for qualities. `standard` is what a model does by itself. */
const qualityNames: ReadonlyMap<unknown, string> = new Map([
  ['standard', 'auto'],
  ['hd', 'high'],
]);

/**
 * Translates a body in OpenAI's shape into one of `POST /images`, which checks it. Fields without a meaning here stay, so
 * that they are named as ignored.
 *
 * @throws {GatewayError} `invalid_request` for a field that changes the image and that no endpoint gets
 */
export function readOpenAIImageBody(
  given: unknown,
  prefix: OpenAIImageOutput['prefix'],
): { body: unknown; output: OpenAIImageOutput } {
  const sent: Record<string, unknown> = isObject(given) ? { ...given } : {};
  const {
    images,
    mask,
    partial_images: partialImages,
    response_format: format,
    safety_identifier: identifier,
    size,
    stream: _stream,
    ...fields
  } = dropNulls(sent);
  const quality = qualityNames.get(fields['quality']) ?? fields['quality'];
  if (mask !== undefined) throw refuse('mask', 'is not offered. Describe in the prompt what to change.');
  if (partialImages !== undefined && !isCount(partialImages)) throw refuse('partial_images', 'must be 0 to 3');
  if (format !== undefined && format !== 'b64_json' && format !== 'url') {
    throw refuse('response_format', 'must be "b64_json" or "url"');
  }
  const body = {
    ...fields,
    ...(quality !== undefined && { quality }),
    ...(size !== undefined && size !== 'auto' && { size }),
    ...(identifier !== undefined && { user: fields['user'] ?? identifier }),
    // The clients of this API get PNG unless they name another format.
    ...(fields['background'] === 'transparent' && { output_format: fields['output_format'] ?? 'png' }),
    ...(sent['stream'] === undefined || sent['stream'] === null ? {} : { stream: sent['stream'] }),
    ...(prefix === 'image_edit' && { input_references: readImages(images) }),
  };
  return {
    body: isObject(given) ? body : given,
    output: {
      prefix,
      partialImages: partialImages ?? 0,
      hasUrls: format === 'url',
      background: wordOr(fields['background']),
      quality: wordOr(quality),
      size: wordOr(size),
    },
  };
}

const refuse = (path: string, message: string) => invalidRequest([{ path, message }]);
const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 3;
const wordOr = (value: unknown): string => (typeof value === 'string' ? value : 'auto');

/** Null means that a field is absent. */
const dropNulls = (body: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

function readImages(images: unknown): object[] {
  if (!Array.isArray(images) || images.length === 0) throw refuse('image', 'is missing. Send at least one image.');
  return images.map((each: unknown, index) => {
    const url = isObject(each) ? each['image_url'] : undefined;
    if (typeof url !== 'string') throw refuse(`images[${index}].image_url`, 'must be a URL or a data URL');
    return { type: 'image_url', image_url: { url } };
  });
}

/** Fields of a form that are no texts in JSON. */
const numbers = new Set(['n', 'output_compression', 'partial_images', 'seed']);
const literals = new Set(['provider', 'stream', 'trace']);

/**
 * Reads the parts of a form as a JSON body.
 *
 * @throws {GatewayError} `invalid_request` for a part that has no place in it
 */
export function readImageForm(parts: readonly FormPart[]): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const images: object[] = [];
  for (const { name, value, mediaType } of parts) {
    const field = name.replace(/\[\d*\]$/, '');
    if (typeof value !== 'string') {
      if (field === 'image') images.push({ image_url: writeDataUrl(value, mediaType) });
      else if (field === 'mask')
        body['mask'] = field; // rejected later
      else throw refuse(field, 'is a file. Send images in the parts image or image[].');
    } else body[field] = readField(field, value);
  }
  return { ...body, images };
}

function readField(name: string, value: string): unknown {
  if (numbers.has(name)) return value.trim() === '' || Number.isNaN(Number(value)) ? value : Number(value);
  if (!literals.has(name)) return value;
  try {
    return parseJson(value);
  } catch {
    return value; // the check rejects it
  }
}

/** The type is detected from the content, so it need not be right. */
const writeDataUrl = (bytes: Buffer, mediaType: string): string =>
  `data:${/^image\/[\w.+-]+$/.test(mediaType) ? mediaType : 'image/png'};base64,${bytes.toString('base64')}`;
