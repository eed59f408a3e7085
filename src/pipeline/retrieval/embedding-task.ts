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
    const needs = needsType(endpoint);
    if (!needs && !hasOnlyFloats(endpoint)) return calls;
    return calls.map((call) => ({
      ...call,
      ...(hasOnlyFloats(endpoint) && { format: 'float' }),
      ...(needs && { neededType: typeOf(call) }),
    }));
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
    if (isRejected && call.dimensions !== undefined && refusesDimensions.test(error.message)) {
      return { ...call, dimensions: undefined };
    }
    if (
      isRejected &&
      call.neededType === undefined &&
      /input_type\W{1,3}(?:parameter )?is required/i.test(error.message)
    ) {
      noteName(typed, endpoint);
      return { ...call, neededType: typeOf(call) };
    }
    const isRefused = isRejected && /encoding_format|base64/i.test(error.message);
    if (call.format !== 'base64' || !(isEmpty || isRefused)) return undefined;
    noteName(onlyFloats, endpoint);
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
    checkLengths(vectors);
    const { length = 0 } = vectors[0] ?? {};
    if (request.dimensions !== undefined && length !== request.dimensions) {
      const message = `dimensions: The vectors of this model have ${length} dimensions, not ${request.dimensions}.`;
      throw new GatewayError('invalid_request', message, { retryable: true });
    }
    return { type: 'finish', vectors, model: finishes.find(({ model }) => model !== undefined)?.model };
  },
};

/**
 * Sentences with which a server refuses the number of dimensions. The caller may have named that of the model.
 *
 * Sources: CortexReach/memory-lancedb-pro#578 (NVIDIA), murtaza-nasir/speakr#352 (vLLM)
 */
const refusesDimensions =
  /\bdimensions\b[^.]{0,80}(?:not (?:permitted|supported|allowed)|unsupported)|(?:not support|unsupported|unknown|unrecognized)[^.]{0,80}\bdimensions\b|does not support matryoshka/i;

/** NVIDIA has these two types: andresgd2003-art/bano#7. */
const typeOf = ({ inputType }: EmbeddingCall): 'query' | 'passage' =>
  inputType === 'search_query' ? 'query' : 'passage';

/** Provider → names of models. */
type Names = WeakMap<object, Set<string>>;
/** Models whose server does not send base64. The gateway converts their numbers. */
const onlyFloats: Names = new WeakMap();
/** Models that need an input type. */
const typed: Names = new WeakMap();
/** A caller can name any model through a wildcard. */
const MAX_NAMES = 1000;

const isNoted = (all: Names, { provider, upstreamModel }: Endpoint): boolean =>
  all.get(provider)?.has(upstreamModel) === true;
const hasOnlyFloats = (endpoint: Endpoint): boolean => isNoted(onlyFloats, endpoint);
const needsType = (endpoint: Endpoint): boolean => isNoted(typed, endpoint);

function noteName(all: Names, { provider, upstreamModel }: Endpoint): void {
  const names = all.get(provider) ?? new Set();
  if (names.size >= MAX_NAMES) names.clear();
  all.set(provider, names.add(upstreamModel));
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

/** @throws {Error} if the vectors do not have the same dimensions */
function checkLengths(vectors: readonly Vector[]): void {
  const wanted = vectors[0]?.length;
  const other = vectors.find(({ length }) => length !== wanted);
  if (other) throw new Error(`A vector has ${other.length} dimensions instead of ${wanted}.`);
}
