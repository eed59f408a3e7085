import { createRetrievalAttempt, type RetrievalAttempt } from '../run/attempt.ts';
import type { RetrievalFinish, RetrievalRun } from '../run/retrieval-run.ts';
import type { RunKind } from '../run/run-kind.ts';
import type { RetrievalPipeline } from '../retrieval-pipeline.ts';
import { attemptRetrieval } from './attempt-retrieval.ts';
import { explainMissingRoute } from './explain-missing-route.ts';
import type { RetrievalTask } from './retrieval-task.ts';
import { measureRetrieval } from './settle-retrieval.ts';

/** The kind of runs that make embeddings or rerank documents. */
export const createRetrievalKind = <R extends RetrievalRun, Call, F extends RetrievalFinish>(
  task: RetrievalTask<R, Call, F>,
): RunKind<R, RetrievalAttempt, F, RetrievalPipeline<R>> => ({
  createAttempt: (endpoint, turn, { budget }) => createRetrievalAttempt(endpoint, turn, budget.share()),
  attempt: (pipeline, run, attempt, out) => attemptRetrieval(task, pipeline, run, attempt, out),
  isOutput: () => true,
  isKept: () => false,
  findOtherWire: (attempt, failure) => explainMissingRoute(failure, attempt, task.path),
  measureFailed: (run, attempt) => (attempt.counted.length > 0 ? measureRetrieval(run, attempt) : undefined),
  describeOutcome(_run, { error, dispatchedAt, endedAt }) {
    const atMs = Date.now();
    if (error || dispatchedAt === undefined) return { atMs, error };
    return {
      atMs,
      error,
      durationMs: endedAt === undefined ? undefined : endedAt - dispatchedAt,
      outputTokens: undefined,
      toolCalls: 'none',
    };
  },
});
