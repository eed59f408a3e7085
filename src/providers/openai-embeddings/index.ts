import type { EmbeddingFacts } from '../../domain/embeddings.ts';
import { readRerankBody } from '../kit/read-rerank.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { defineEmbeddingWire, defineRerankWire, type EmbeddingWire, type RerankWire } from '../whole-wire.ts';
import type { Wire } from '../wire.ts';
import { type Dialect, optionalFields, readDialect } from './dialect.ts';
import { type ReaderContext, writeEmbeddings, writeRerank } from './request.ts';
import { readEmbeddings } from './wire.ts';

type Settings = Readonly<Record<string, unknown>>;

/** The limits of OpenAI: 2,048 inputs and 300,000 tokens in one call. */
const facts: EmbeddingFacts = { maxBatch: 2048, maxTokens: 300_000, takesTokens: true, takesImages: true };

const embedWith = (dialectOf: (settings: Settings) => Dialect): EmbeddingWire =>
  defineEmbeddingWire<ReaderContext>({
    facts,
    writeRequest: (call, target) => writeEmbeddings(call, target, dialectOf(target.dialect)),
    readWhole: readEmbeddings,
  });

const rerankWith = (dialectOf: (settings: Settings) => Dialect): RerankWire =>
  defineRerankWire<ReaderContext>({
    facts: { maxBatch: 1000 },
    writeRequest: (call, target) => writeRerank(call, target, dialectOf(target.dialect)),
    readWhole: (body, { count }) => readRerankBody(body, count),
  });

/** `POST {base_url}/embeddings` and `/rerank`: Voyage, Jina, vLLM, TEI and other servers without text models. */
export const openaiEmbeddings = {
  id: 'openai-embeddings',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError: readUpstreamError,
  embedding: embedWith(readDialect),
  rerank: rerankWith(readDialect),
} satisfies Wire;

/** The dialect of a text wire at the same URL: only its list of rejected fields matters here. */
function readTextDialect({ omit }: Settings): Dialect {
  const names = Array.isArray(omit) ? optionalFields.filter((field) => omit.includes(field)) : [];
  return readDialect({ omit: names });
}

/** The same wire for text wires. */
export const textWireEmbedding: EmbeddingWire = embedWith(readTextDialect);
export const textWireRerank: RerankWire = rerankWith(readTextDialect);
