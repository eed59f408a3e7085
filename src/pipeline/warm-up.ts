import type { ResponseEvent } from '../domain/events.ts';
import type { Sink } from '../domain/sink.ts';
import { planRoute } from '../routing/plan-route.ts';
import { EventBuilder } from './events/build-events.ts';
import { RunContext } from './events/run-context.ts';
import type { ResponsePipeline } from './response-pipeline.ts';
import { buildRequest, type Run } from './run/run.ts';
import { createStep } from './run/step.ts';

/**
 * Responds without a call of a model: a completed response without output, which the next request can continue. It costs
 * nothing and has no ledger entry.
 *
 * @throws {GatewayError} if no endpoint can serve the request
 */
export async function warmUp(pipeline: ResponsePipeline, run: Run, client: Sink<ResponseEvent>): Promise<void> {
  const { caller, steps } = run;
  const plan = planRoute(buildRequest(run), caller, pipeline.routingContext(), {}, (refused) => {
    steps.push(createStep(refused));
  });
  steps.push(createStep(plan));
  const builder = new EventBuilder(new RunContext(run, pipeline.region(), pipeline.upstreamBodyLimit()));
  await client.write(builder.build([{ type: 'finish', reason: 'stop' }]));
}
