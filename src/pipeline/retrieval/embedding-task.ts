import {
  type EmbeddingCall,
  type EmbeddingFinish,
  type EmbeddingRequest,
  estimateInputs,
  sliceInputs,
  type Vector,
} from '../../domain/embeddings.ts';
import { GatewayError } from '../../domain/errors.ts';
import { convertVector } from '../../providers/kit/convert-vector.ts';
import type { Endpoint } from '../../providers/provider.ts';
import { planEmbeddingRoute } from '../../routing/plan-route.ts';
import type { EmbeddingRun } from '../run/retrieval-run.ts';
import type { RetrievalTask } from './retrieval-task.ts';

/** The part of a limit in tokens that an estimated call may use. The rest is for the error of the estimate. */
const SAFE_SHARE = 0.7;
/** Dimensions of a vector, if the request does not name them. */
const USUAL_DIMENSIONS = 1536;
/** Characters of a dimension as a number, and as base64. */
const CHARACTERS = { float: 22, base64: 16 / 3 };
/** Milliseconds of work between two turns of the event loop. */
const TURN_MS = 10;

/** Kinds of errors with which servers refuse too many inputs. */
const refusals: ReadonlySet<GatewayError['kind']> = new Set([
  'upstream_rejected',
  'unprocessable',
  'payload_too_large',
]);

export const embeddingTask: RetrievalTask<EmbeddingRun, EmbeddingCall, EmbeddingFinish> = {
  apiType: 'embeddings',
  path: '/embeddings',
  hasVectors: true,
  plan: planEmbeddingRoute,
  findWire: ({ embedding }) => embedding,
  listCalls(request, endpoint) {
    const { embedding } = endpoint;
    const maxBatch = Math.min(embedding?.maxBatch ?? 1, knownBatch(endpoint));
    const calls = splitInputs(request, maxBatch, embedding?.maxTokens ?? Number.POSITIVE_INFINITY);
    return hasOnlyFloats(endpoint) ? calls.map((call) => ({ ...call, format: 'float' })) : calls;
  },
  adapt(call, endpoint, error) {
    // Some servers refuse what they do not have, and others respond with an empty list.
    const isEmpty = error.cause instanceof TypeError;
    const isRejected = error.kind === 'upstream_rejected';
    if (call.input.kind === 'tokens' && (isEmpty || (isRejected && /\binput\b|string/i.test(error.message)))) {
      const reason = isEmpty ? 'It returned no vectors.' : error.message;
      throw new GatewayError(
        'invalid_request',
        `input: ${endpoint.provider.name} did not accept token ids. Send texts; in LangChain, set check_embedding_ctx_length=False. ${reason}`,
        { retryable: true, cause: error },
      );
    }
    const isRefused = isRejected && /encoding_format|base64/i.test(error.message);
    if (call.format !== 'base64' || !(isEmpty || isRefused)) return undefined;
    noteOnlyFloats(endpoint);
    return { ...call, format: 'float' };
  },
  split(call, endpoint, error) {
    const max = refusals.has(error.kind) ? readBatch(error.message) : undefined;
    if (max === undefined || max >= call.input.items.length) return undefined;
    noteBatch(endpoint, max);
    return splitInputs(call, max, Number.POSITIVE_INFINITY);
  },
  estimateCall: ({ input }) => estimateInputs(input).reduce((sum, count) => sum + count, 0),
  expectBytes: ({ input, dimensions = USUAL_DIMENSIONS, format }) =>
    Math.ceil(input.items.length * dimensions * CHARACTERS[format]),
  async join({ request, cancellation }, finishes) {
    const vectors: Vector[] = [];
    let turnedAt = performance.now();
    for (const finish of finishes) {
      for (const vector of finish.vectors) {
        vectors.push(convertVector(vector, request.format));
        if (performance.now() - turnedAt < TURN_MS) continue;
        await new Promise((resolve) => setImmediate(resolve));
        if (cancellation.reason) throw cancellation.reason;
        turnedAt = performance.now();
      }
    }
    checkLengths(vectors, request.dimensions);
    return { type: 'finish', vectors, model: finishes.find(({ model }) => model !== undefined)?.model };
  },
};

/** Provider → names of models whose server does not send base64. The gateway converts their numbers. */
const onlyFloats = new WeakMap<object, Set<string>>();
/** A caller can name any model through a wildcard. */
const MAX_NAMES = 1000;

const hasOnlyFloats = ({ provider, upstreamModel }: Endpoint): boolean =>
  onlyFloats.get(provider)?.has(upstreamModel) === true;

function noteOnlyFloats({ provider, upstreamModel }: Endpoint): void {
  const names = onlyFloats.get(provider) ?? new Set();
  if (names.size >= MAX_NAMES) names.clear();
  onlyFloats.set(provider, names.add(upstreamModel));
}

/**
 * Sentences about too many inputs.
 *
 * Sources: memodb-io/memobase#142 (Alibaba), RageAgainstThePixel/OpenAI-DotNet#111 (Azure), TEI, geldata/gel#9032
 * (Google)
 */
const batchLimits: readonly RegExp[] = [
  /batch size is invalid, it should not be larger than (\d{1,6})/i,
  /max(?:imum)? number of inputs is (\d{1,6})/i,
  /maximum allowed batch size (\d{1,6})/i,
  /at most (\d{1,6}) requests can be in one batch/i,
];

function readBatch(message: string): number | undefined {
  const text = message.slice(0, 500);
  for (const pattern of batchLimits) {
    const max = Number(pattern.exec(text)?.[1]);
    if (max > 0) return max;
  }
  return undefined;
}

/** Provider → names of models → the number of inputs that the server takes. */
const batches = new WeakMap<object, Map<string, number>>();

const knownBatch = ({ provider, upstreamModel }: Endpoint): number =>
  batches.get(provider)?.get(upstreamModel) ?? Number.POSITIVE_INFINITY;

function noteBatch({ provider, upstreamModel }: Endpoint, max: number): void {
  const known = batches.get(provider) ?? new Map<string, number>();
  if (known.size >= MAX_NAMES) known.clear();
  batches.set(provider, known.set(upstreamModel, max));
}

/** Splits the inputs, so that no call exceeds the maximum of inputs, and probably none exceeds the maximum of tokens. choice 626 */
function splitInputs(request: EmbeddingRequest | EmbeddingCall, maxBatch: number, maxTokens: number): EmbeddingCall[] {
  const { input, format, dimensions, inputType } = request;
  const counts = estimateInputs(input);
  const safeTokens = input.kind === 'tokens' ? maxTokens : maxTokens * SAFE_SHARE;
  const calls: EmbeddingCall[] = [];
  let start = 0;
  let tokens = 0;
  const add = (end: number): void => {
    calls.push({ input: sliceInputs(input, start, end), format, dimensions, inputType });
    start = end;
    tokens = 0;
  };
  for (const [at, count] of counts.entries()) {
    const isFull = at - start >= maxBatch || tokens + count > safeTokens;
    if (isFull && at > start) add(at);
    tokens += count;
  }
  add(counts.length);
  return calls;
}

/** @throws {Error} if the vectors do not have the same dimensions, or not the requested ones */
function checkLengths(vectors: readonly Vector[], wanted = vectors[0]?.length): void {
  const other = vectors.find(({ length }) => length !== wanted);
  if (other) throw new Error(`A vector has ${other.length} dimensions instead of ${wanted}.`);
}
