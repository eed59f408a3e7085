import { type RerankCall, type RerankFinish, estimateRerank } from '../../domain/rerank.ts';
import { planRerankRoute } from '../../routing/plan-route.ts';
import type { RerankRun } from '../run/retrieval-run.ts';
import type { RetrievalTask } from './retrieval-task.ts';

/** Bytes of a score in a response. */
const BYTES_OF_SCORE = 64;

export const rerankTask: RetrievalTask<RerankRun, RerankCall, RerankFinish> = {
  apiType: 'rerank',
  path: '/rerank',
  hasVectors: false,
  plan: planRerankRoute,
  findWire: ({ rerank }) => rerank,
  // Some models compare the documents with one another, so they are never split. choice 628
  listCalls: ({ query, documents, topN, maxTokensPerDocument }) => [{ query, documents, topN, maxTokensPerDocument }],
  estimateCall: estimateRerank,
  expectBytes: ({ documents }) => documents.length * BYTES_OF_SCORE,
  async join({ request }, finishes) {
    const [finish] = finishes;
    return { ...finish!, results: finish!.results.slice(0, request.topN) };
  },
};
