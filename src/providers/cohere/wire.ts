import { Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import type { EmbeddingFinish } from '../../domain/embeddings.ts';
import { special, usage } from '../../domain/usage.ts';
import { readVector } from '../kit/lift-vectors.ts';
import type { ReaderContext } from './request.ts';

const maybeList = Type.Optional(Type.Union([Type.Array(Type.Unknown()), Type.Null()]));
const embedBody = Type.Object({
  embeddings: Type.Object({ float: maybeList, base64: maybeList }),
  meta: Type.Optional(Type.Unknown()), // invalid counts do not discard vectors
});
const check = createCheck(embedBody);

/** Reads a response of `/embed`. @throws {Error} if it has another shape */
export function readEmbed(body: unknown, { count, format }: ReaderContext): EmbeddingFinish {
  if (!check(body)) throw new TypeError('The body has no embeddings.');
  const vectors = (body.embeddings[format] ?? []).map(readVector);
  if (vectors.length !== count) throw new TypeError('The embeddings do not match the inputs.');
  return { type: 'finish', vectors, usage: readUsage(body.meta) };
}

function readUsage(meta: unknown): EmbeddingFinish['usage'] {
  const { billed_units: billed } = (meta ?? {}) as { billed_units?: Record<string, unknown> };
  const { input_tokens: text, image_tokens: images } = billed ?? {};
  const inputImageTokens = Number.isSafeInteger(images) ? (images as number) : 0;
  const textTokens = Number.isSafeInteger(text) ? (text as number) : 0;
  if (textTokens + inputImageTokens === 0) return undefined;
  const counts = special({ inputImageTokens });
  return usage({ inputTokens: textTokens + inputImageTokens, outputTokens: 0, ...(counts && { special: counts }) });
}
