import {
  type EmbeddingCall,
  type EmbeddingFinish,
  type EmbeddingRequest,
  estimateInputs,
  sliceInputs,
  type Vector,
} from '../../domain/embeddings.ts';
import { convertVector } from '../../providers/kit/convert-vector.ts';
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

export const embeddingTask: RetrievalTask<EmbeddingRun, EmbeddingCall, EmbeddingFinish> = {
  apiType: 'embeddings',
  path: '/embeddings',
  hasVectors: true,
  plan: planEmbeddingRoute,
  findWire: ({ embedding }) => embedding,
  listCalls: (request, { embedding }) =>
    splitInputs(request, embedding?.maxBatch ?? 1, embedding?.maxTokens ?? Number.POSITIVE_INFINITY),
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

/** Splits the inputs, so that no call exceeds the maximum of inputs, and probably none exceeds the maximum of tokens. choice 626 */
function splitInputs(request: EmbeddingRequest, maxBatch: number, maxTokens: number): EmbeddingCall[] {
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
