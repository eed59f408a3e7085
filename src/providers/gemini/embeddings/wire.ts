import { Type } from 'typebox';
import { createCheck } from '../../../schema/create-check.ts';
import type { EmbeddingFinish } from '../../../domain/embeddings.ts';
import { usage } from '../../../domain/usage.ts';
import { readVector } from '../../kit/lift-vectors.ts';
import type { ReaderContext } from './request.ts';

const batchBody = Type.Object({
  embeddings: Type.Array(Type.Object({ values: Type.Unknown() })),
  usageMetadata: Type.Optional(Type.Unknown()), // invalid counts do not discard vectors
});
const check = createCheck(batchBody);

/** Reads a response of `batchEmbedContents`. @throws {Error} if it has another shape */
export function readBatchEmbed(body: unknown, { count }: ReaderContext): EmbeddingFinish {
  if (!check(body)) throw new TypeError('The body has no embeddings.');
  const vectors = body.embeddings.map(({ values }) => readVector(values));
  if (vectors.length !== count) throw new TypeError('The embeddings do not match the inputs.');
  const { promptTokenCount: tokens } = (body.usageMetadata ?? {}) as Record<string, unknown>;
  return {
    type: 'finish',
    vectors,
    usage: Number.isSafeInteger(tokens) ? usage({ inputTokens: tokens as number, outputTokens: 0 }) : undefined,
  };
}
