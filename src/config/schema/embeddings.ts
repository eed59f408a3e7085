import { Type } from 'typebox';
import { byteField } from './fields.ts';

export const embeddingSettings = Type.Object({
  max_inputs: Type.Integer({
    description: 'Maximum number of inputs of one request, or of documents of `POST /rerank`. More are a 400.',
    default: 2048,
    minimum: 1,
    maximum: 100_000,
  }),
  parallel_calls: Type.Integer({
    description:
      'Requests to a provider at the same time for one request whose inputs exceed the limit of the provider.',
    default: 4,
    minimum: 1,
    maximum: 64,
  }),
  answer_limit: byteField(
    'Largest total of the responses of a provider to one request, in bytes or as `64MiB`.',
    268_435_456,
  ),
  memory: byteField(
    'Memory for the responses of providers of all embeddings in progress, in each process. Further requests wait.',
    536_870_912,
  ),
});
