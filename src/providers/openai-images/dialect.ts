import { type Static, Type } from 'typebox';
import { dialectReader } from '../kit/read-dialect.ts';

/** Fields that a server may reject and that are not essential. */
const optionalFields = [
  ...(['size', 'quality', 'output_format', 'output_compression', 'background', 'user', 'stream'] as const),
] as const;

/** The differences of a server from OpenAI's gpt-image models, whose behavior is the default. */
const dialectSchema = Type.Object(
  {
    response_format: Type.Boolean({
      default: false,
      description: 'Request `b64_json`. Models before gpt-image otherwise return a URL.',
    }),
    partial_images: Type.Integer({
      default: 2,
      minimum: 0,
      maximum: 3,
      description: 'Number of partial images that a stream requests.',
    }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      default: [],
      description: 'Fields that the server rejects. They are dropped and reported.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} that names the invalid setting, for the operator */
export const readDialect = dialectReader('openai-images', dialectSchema);
