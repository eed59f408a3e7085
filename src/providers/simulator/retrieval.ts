import type { EmbeddingCall, EmbeddingFinish, EmbeddingInputs } from '../../domain/embeddings.ts';
import type { RerankCall } from '../../domain/rerank.ts';
import { usage } from '../../domain/usage.ts';
import { encodeFloats } from '../kit/convert-vector.ts';
import { readVector } from '../kit/lift-vectors.ts';
import { readRerankBody } from '../kit/read-rerank.ts';
import { defineEmbeddingWire, defineRerankWire } from '../whole-wire.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { countTokens } from './conversation.ts';
import { createErrorResponse, readError } from './errors.ts';
import { readScript } from './language.ts';
import { pause } from './pause.ts';
import { compareVectors, createWordVector, USUAL_DIMENSIONS } from './word-vector.ts';

const TOKENS_OF_IMAGE = 64;
const MAX_DIMENSIONS = 4096;
/** Vectors between two turns of the event loop. */
const TURN = 64;

interface Counted {
  count: number;
}

type EmbedRequest = Pick<EmbeddingCall, 'input' | 'format' | 'dimensions'> & { model: string };
type RerankBody = RerankCall & { model: string };

/** Makes vectors of the words of a text. Directives in the texts make it slow or fail. */
export const simulatorEmbedding = defineEmbeddingWire<Counted>({
  facts: { maxBatch: 1000, takesTokens: true, takesImages: true },
  writeRequest({ input, format, dimensions, inputType }, target) {
    const body: EmbedRequest = { model: modelOf(target), input, format, dimensions };
    return {
      path: '/embeddings',
      body: { ...body },
      dropped: inputType === undefined ? [] : ['input_type'],
      readerContext: { count: input.items.length },
    };
  },
  readWhole(body): EmbeddingFinish {
    const { model, vectors, tokens } = body as { model: string; vectors: unknown[]; tokens: number }; // by `embed`
    return {
      type: 'finish',
      vectors: vectors.map(readVector),
      model,
      usage: usage({ inputTokens: tokens, outputTokens: 0 }),
    };
  },
  send: embed,
});

/** Ranks documents by the words that they share with the query. Directives in the query make it slow or fail. */
export const simulatorRerank = defineRerankWire<Counted>({
  facts: { maxBatch: 1000 },
  writeRequest({ maxTokensPerDocument, ...call }, target) {
    const body: RerankBody = { model: modelOf(target), ...call };
    return {
      path: '/rerank',
      body: { ...body },
      dropped: maxTokensPerDocument === undefined ? [] : ['max_tokens_per_doc'],
      readerContext: { count: call.documents.length },
    };
  },
  readWhole: (body, { count }) => readRerankBody(body, count),
  send: rank,
});

/** The name in an entry without `upstream_model` has a prefix. */
const modelOf = ({ upstreamModel }: Target): string => upstreamModel.replace(/^simulator\//, '');

async function embed({ body }: UpstreamRequest<Counted>, signal: AbortSignal): Promise<Buffer> {
  const { model, input, format, dimensions = USUAL_DIMENSIONS } = body as unknown as EmbedRequest; // as written above
  checkModel(model, 'embedding');
  if (dimensions > MAX_DIMENSIONS) fail(400, `The simulator makes at most ${MAX_DIMENSIONS} dimensions.`);
  const texts = listTexts(input);
  let tokens = 0;
  const vectors: (string | number[])[] = [];
  for (const [at, source] of texts.entries()) {
    if (at % TURN === 0 && at > 0) await nextTurn(signal);
    const text = source.includes('[[') ? await follow(source, signal) : source;
    const vector = createWordVector(text, dimensions);
    vectors.push(format === 'base64' ? encodeFloats(vector) : Array.from(vector));
    tokens += countInput(input, at, source);
  }
  return Buffer.from(JSON.stringify({ model, vectors, tokens }));
}

async function rank({ body }: UpstreamRequest<Counted>, signal: AbortSignal): Promise<Buffer> {
  const { model, query, documents, topN = documents.length } = body as unknown as RerankBody; // as written above
  checkModel(model, 'rerank');
  const wanted = createWordVector(await follow(query, signal), USUAL_DIMENSIONS);
  const results = documents.map((document, index) => {
    const likeness = compareVectors(wanted, createWordVector(document, USUAL_DIMENSIONS));
    return { index, relevance_score: Math.max(0, Math.round(likeness * 1e6) / 1e6) };
  });
  const characters = documents.reduce((sum, { length }) => sum + length, query.length);
  return Buffer.from(
    JSON.stringify({
      model,
      results: results.sort((a, b) => b.relevance_score - a.relevance_score).slice(0, topN),
      usage: { total_tokens: countTokens(characters), search_units: Math.ceil(documents.length / 100) },
    }),
  );
}

function listTexts(input: EmbeddingInputs): readonly string[] {
  switch (input.kind) {
    case 'text':
      return input.items;
    case 'tokens':
      return input.items.map((ids) => ids.join(' '));
    case 'parts':
      return input.items.map((parts) =>
        parts.map((part) => (part.type === 'text' ? part.text : part.image_url.url)).join('\n'),
      );
  }
}

function countInput(input: EmbeddingInputs, at: number, text: string): number {
  if (input.kind === 'tokens') return input.items[at]!.length;
  if (input.kind === 'text') return countTokens(text.length);
  return input.items[at]!.reduce(
    (sum, part) => sum + (part.type === 'text' ? countTokens(part.text.length) : TOKENS_OF_IMAGE),
    0,
  );
}

/** Waits or fails as the directives of a text request. @returns the text without them */
async function follow(source: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { text, turns } = readScript(source);
  const turn = turns[0]!; // there is always one
  if (turn.waitMs) await pause(turn.waitMs, signal);
  if (turn.failure) fail(turn.failure.status, turn.failure.message, turn.failure.retryAfterSeconds);
  return text;
}

async function nextTurn(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

function checkModel(model: string, known: string): void {
  if (model !== known) fail(404, `The simulator has no model ${JSON.stringify(model)} for this path. It has ${known}.`);
}

function fail(status: number, message: string, retryAfterSeconds?: number): never {
  throw readError(createErrorResponse(status, message, retryAfterSeconds));
}
