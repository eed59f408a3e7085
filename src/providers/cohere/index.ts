import { readRerankBody } from '../kit/read-rerank.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { defineEmbeddingWire, defineRerankWire } from '../whole-wire.ts';
import type { Wire } from '../wire.ts';
import { type ReaderContext, writeEmbed, writeRerank } from './request.ts';
import { readEmbed } from './wire.ts';

/** `POST {base_url}/embed` and `/rerank` of Cohere's version 2. The base URL ends in `/v2`. */
export const cohere = {
  id: 'cohere',
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError: readUpstreamError,
  embedding: defineEmbeddingWire<ReaderContext>({
    facts: { maxBatch: 96, takesTokens: false, takesImages: true },
    writeRequest: writeEmbed,
    readWhole: readEmbed,
  }),
  rerank: defineRerankWire<ReaderContext>({
    facts: { maxBatch: 1000 },
    writeRequest: writeRerank,
    readWhole: (body, { count }) => readRerankBody(body, count),
  }),
} satisfies Wire;
