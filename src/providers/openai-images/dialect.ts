import { type Static, Type } from 'typebox';
import { dialectReader } from '../kit/read-dialect.ts';

/** Fields that a server may refuse and that a picture can do without. */
const optionalFields = [
  ...(['size', 'quality', 'output_format', 'output_compression', 'background', 'user', 'stream'] as const),
] as const;

/** How a server differs from the original. The defaults are what OpenAI's gpt-image models take. */
const dialectSchema = Type.Object(
  {
    response_format: Type.Boolean({
      default: false,
      description: 'Ask for `b64_json`; servers before gpt-image give a link otherwise.',
    }),
    partial_images: Type.Integer({
      default: 2,
      minimum: 0,
      maximum: 3,
      description: 'Partial pictures that a stream asks for.',
    }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      default: [],
      description: 'Fields that the server refuses; they are left out and named in the metadata.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} naming the setting, in words for the operator; it never comes from what a caller sent */
export const readDialect = dialectReader('openai-images', dialectSchema);
