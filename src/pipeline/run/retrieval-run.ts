import type { EmbeddingFinish, EmbeddingRequest } from '../../domain/embeddings.ts';
import type { RerankFinish, RerankRequest } from '../../domain/rerank.ts';
import type { RetrievalAttempt } from './attempt.ts';
import type { RunBase } from './run.ts';
import type { Step } from './step.ts';

/** The finish of a retrieval: all of its output. */
export type RetrievalFinish = EmbeddingFinish | RerankFinish;

/** The run of embeddings or of a rerank: it has input and a whole result, and no text. */
export interface RetrievalRun<Q = unknown, F extends RetrievalFinish = RetrievalFinish> extends RunBase {
  readonly request: Q & RunBase['request'];
  readonly steps: Step<RetrievalAttempt>[];
  /** All of the output. Undefined before it is complete. */
  result: F | undefined;
}

export type EmbeddingRun = RetrievalRun<EmbeddingRequest, EmbeddingFinish>;
export type RerankRun = RetrievalRun<RerankRequest, RerankFinish>;
