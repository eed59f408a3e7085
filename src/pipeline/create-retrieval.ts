import { asGatewayError } from '../domain/errors.ts';
import type { RetrievalPipeline } from './retrieval-pipeline.ts';
import { closeRun } from './accounting/close-run.ts';
import { planRetrieval } from './retrieval/plan-retrieval.ts';
import { createRetrievalKind } from './retrieval/retrieval-kind.ts';
import { RetrievalStage } from './retrieval/retrieval-stage.ts';
import type { RetrievalTask } from './retrieval/retrieval-task.ts';
import { createRetrievalEntry } from './retrieval/settle-retrieval.ts';
import type { RetrievalFinish, RetrievalRun } from './run/retrieval-run.ts';
import { walkPlan } from './steps/walk-plan.ts';

/**
 * Serves embeddings or a rerank, from an accepted request to its result, as `create-response.ts` does for text. Read
 * this file first. The client receives all vectors or scores, or none.
 *
 * @param run comes from `createRetrievalRun`; its `result` is set afterwards
 * @throws {GatewayError} the failure
 */
export async function createRetrieval<Call, F extends RetrievalFinish, Q>(
  pipeline: RetrievalPipeline<RetrievalRun<Q, F>>,
  run: RetrievalRun<Q, F>,
  task: RetrievalTask<RetrievalRun<Q, F>, Call, F>,
): Promise<void> {
  const close = () => closeRun(pipeline, run, (ended) => createRetrievalEntry(ended, task.apiType));
  try {
    const step = await planRetrieval(pipeline, run, task);
    const stage = new RetrievalStage(run, close);
    await walkPlan(pipeline, run, step, createRetrievalKind(task), () => stage);
  } catch (error) {
    run.error = asGatewayError(error);
    throw run.error;
  } finally {
    const recorded = close();
    if (recorded) await recorded;
  }
}
