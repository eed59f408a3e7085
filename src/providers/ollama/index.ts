import { Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import type { EmbeddingCall, EmbeddingFinish } from '../../domain/embeddings.ts';
import { usage } from '../../domain/usage.ts';
import { refuseBecause } from '../kit/draft.ts';
import { readVector } from '../kit/lift-vectors.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { defineEmbeddingWire } from '../whole-wire.ts';
import type { Target, UpstreamRequest, Wire } from '../wire.ts';

/** Facts about a call that its reader needs. */
interface ReaderContext {
  count: number;
}

const embedBody = Type.Object({
  embeddings: Type.Array(Type.Unknown()),
  model: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  prompt_eval_count: Type.Optional(Type.Unknown()), // an invalid count does not discard vectors
});
const check = createCheck(embedBody);

/** `POST {base_url}/embed` of Ollama. The base URL ends in `/api`. */
export const ollama = {
  id: 'ollama',
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError: readUpstreamError,
  embedding: defineEmbeddingWire<ReaderContext>({
    facts: { maxBatch: 512, takesTokens: false, takesImages: false },
    writeRequest: writeEmbed,
    readWhole: readEmbed,
  }),
} satisfies Wire;

/**
 * Writes the body. An input that is too long is an error, as with other providers, instead of a vector of its start.
 *
 * @see https://docs.ollama.com/api/embed
 */
function writeEmbed({ input, dimensions, inputType }: EmbeddingCall, target: Target): UpstreamRequest<ReaderContext> {
  if (input.kind !== 'text') throw refuseBecause('input', `${target.endpoint} supports only texts.`);
  return {
    path: '/embed',
    body: {
      model: target.upstreamModel,
      input: input.items,
      truncate: false,
      ...(dimensions !== undefined && { dimensions }),
    },
    dropped: inputType === undefined ? [] : ['input_type'],
    readerContext: { count: input.items.length },
  };
}

function readEmbed(body: unknown, { count }: ReaderContext): EmbeddingFinish {
  if (!check(body)) throw new TypeError('The body has no embeddings.');
  const vectors = body.embeddings.map(readVector);
  if (vectors.length !== count) throw new TypeError('The embeddings do not match the inputs.');
  const tokens = body.prompt_eval_count;
  return {
    type: 'finish',
    vectors,
    model: body.model ?? undefined,
    usage: Number.isSafeInteger(tokens) ? usage({ inputTokens: tokens as number, outputTokens: 0 }) : undefined,
  };
}
