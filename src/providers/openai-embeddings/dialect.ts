import { type Static, Type } from 'typebox';
import { embeddingInputTypes } from '../../domain/embeddings.ts';
import { dialectReader } from '../kit/read-dialect.ts';

/** Fields that a server may reject and that are not essential. */
export const optionalFields = ['encoding_format', 'user', 'return_documents'] as const;

const name = (value: string, description: string) => Type.String({ default: value, minLength: 1, description });

/** The differences of a server from OpenAI's embeddings API, whose behavior is the default. */
const dialectSchema = Type.Object(
  {
    format_field: name('encoding_format', 'Field that requests base64. Jina: `embedding_type`.'),
    dimensions_field: name('dimensions', 'Field of the number of dimensions. Voyage: `output_dimension`.'),
    input_type_field: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: 'Field of the input type. Voyage: `input_type`. Jina: `task`. Null: the server has none.',
    }),
    input_types: Type.Partial(Type.Record(Type.Enum([...embeddingInputTypes]), Type.String({ minLength: 1 })), {
      default: {},
      description: 'The server’s words for input types. An input type without one is dropped.',
    }),
    top_n_field: name('top_n', 'Field of the number of reranked documents. Voyage: `top_k`.'),
    rerank_texts: Type.Boolean({
      default: false,
      description:
        'Whether `/rerank` takes `texts` and one model, as that of Hugging Face TEI. The gateway then applies the number of documents itself.',
    }),
    rerank_passages: Type.Union([Type.String({ pattern: '^/[\\w./-]{1,200}$' }), Type.Null()], {
      default: null,
      description:
        'The path of the ranking of NVIDIA NIM, which takes `passages`: `/ranking`. The gateway applies the number of documents itself. Null: `/rerank`.',
    }),
    empty_texts: Type.Boolean({
      default: true,
      description: 'False: the server rejects an empty text. It gets a space instead.',
    }),
    token_arrays: Type.Boolean({ default: true, description: 'Whether the input can be ids of tokens.' }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      default: [],
      description: 'Fields that the server rejects. They are dropped and reported.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} that names the invalid setting, for the operator */
export const readDialect = dialectReader('openai-embeddings', dialectSchema);
