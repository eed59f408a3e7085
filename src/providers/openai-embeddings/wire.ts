import { Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import type { EmbeddingFinish, Vector } from '../../domain/embeddings.ts';
import { readCount, usage } from '../../domain/usage.ts';
import { readVector } from '../kit/lift-vectors.ts';
import type { ReaderContext } from './request.ts';

const embeddingsBody = Type.Object({
  data: Type.Array(Type.Object({ index: Type.Optional(Type.Integer()), embedding: Type.Unknown() })),
  model: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  usage: Type.Optional(Type.Unknown()), // invalid counts do not discard vectors
});
const check = createCheck(embeddingsBody);

/**
 * Reads a response of `/embeddings`. Vectors are in the order of `index`, or of the list if the server sends none.
 *
 * @throws {Error} if it has another shape
 */
export function readEmbeddings(body: unknown, { count }: ReaderContext): EmbeddingFinish {
  if (!check(body)) throw new TypeError('The body is not a list of embeddings.');
  const vectors: Vector[] = [];
  for (const [at, { index = at, embedding }] of body.data.entries()) {
    if (index < 0 || index >= count || vectors[index]) throw new TypeError('The embeddings do not match the inputs.');
    vectors[index] = readVector(embedding);
  }
  if (body.data.length !== count) throw new TypeError('The embeddings do not match the inputs.');
  return { type: 'finish', vectors, model: body.model ?? undefined, usage: readUsage(body.usage) };
}

function readUsage(reported: unknown): EmbeddingFinish['usage'] {
  const { prompt_tokens: prompt, total_tokens: total } = (reported ?? {}) as Record<string, unknown>;
  const inputTokens = readCount(prompt ?? total);
  if (inputTokens === undefined || !Number.isSafeInteger(inputTokens)) return undefined;
  return usage({ inputTokens, outputTokens: 0 });
}
