import { describeEmbedding, describeRerank } from '../contents/retrieval-content.ts';
import type { EmbeddingFinish, EmbeddingRequest } from '../domain/embeddings.ts';
import type { RerankFinish, RerankRequest } from '../domain/rerank.ts';
import { createEmbeddingFilter, createRerankFilter } from '../guardrails/inspect-run.ts';
import { estimateEmbeddingCost, estimateRerankCost } from '../pipeline/accounting/estimate-retrieval.ts';
import { ByteBudget } from '../pipeline/images/byte-budget.ts';
import type { PipelineBase } from '../pipeline/pipeline.ts';
import type { RetrievalPipeline } from '../pipeline/retrieval-pipeline.ts';
import type { EmbeddingRun, RerankRun, RetrievalRun } from '../pipeline/run/retrieval-run.ts';
import type { PipelinesParts } from './assemble-pipelines.ts';
import { payersOf } from '../metering/spending.ts';
import { createRunObserver } from './observe-run.ts';

export interface RetrievalPipelines {
  embeddingPipeline: RetrievalPipeline<RetrievalRun<EmbeddingRequest, EmbeddingFinish>>;
  rerankPipeline: RetrievalPipeline<RetrievalRun<RerankRequest, RerankFinish>>;
}

/** Assembles the pipelines of embeddings and of reranks. @param everyRun what all pipelines share */
export function assembleRetrieval(
  everyRun: Omit<PipelineBase<EmbeddingRun & RerankRun>, 'reserve' | 'observe'>,
  parts: PipelinesParts,
): RetrievalPipelines {
  const { config, accounts, contentGuardrails } = parts;
  const { spending } = accounts;
  const observeRun = createRunObserver(parts);
  const shared = {
    ...(everyRun as Omit<PipelineBase<EmbeddingRun> & PipelineBase<RerankRun>, 'reserve' | 'observe'>),
    limits() {
      const { answer_limit: answer, parallel_calls: parallelCalls } = config().embeddings;
      return { answer, parallelCalls };
    },
    budget: new ByteBudget(() => config().embeddings.memory),
  };
  return {
    embeddingPipeline: {
      ...shared,
      inspector: createEmbeddingFilter(contentGuardrails),
      reserve(run, plan) {
        const payers = payersOf(run);
        if (!plan || !spending.limits(payers)) return undefined; // embeddings have no charges
        return spending.reserve(payers, run.generationId, estimateEmbeddingCost(run.request, plan));
      },
      observe(run, entry) {
        observeRun(run, entry, () => describeEmbedding(run));
      },
    },
    rerankPipeline: {
      ...shared,
      inspector: createRerankFilter(contentGuardrails),
      reserve(run, plan) {
        const payers = payersOf(run);
        if (!plan || !spending.limits(payers)) return undefined; // see above
        return spending.reserve(payers, run.generationId, estimateRerankCost(run.request, plan));
      },
      observe(run, entry) {
        observeRun(run, entry, () => describeRerank(run));
      },
    },
  };
}
