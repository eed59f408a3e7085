import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { ByteBudget } from './images/byte-budget.ts';
import type { PipelineBase } from './pipeline.ts';
import type { RetrievalRun } from './run/retrieval-run.ts';

/** The dependencies of embeddings or of reranking. */
export interface RetrievalPipeline<R extends RetrievalRun> extends PipelineBase<R> {
  /** Inspects the texts of the input. */
  inspector: (run: R) => MaybePromise<Verdict<Partial<R['request']>>>;
  limits: () => {
    /** Bytes of all responses to one attempt. */
    answer: number;
    /** Calls of one attempt at the same time. */
    parallelCalls: number;
  };
  /** Memory for responses of all runs together. */
  budget: ByteBudget;
}
