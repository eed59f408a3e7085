import { asGatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { Sink } from '../domain/sink.ts';
import type { Run } from './run.ts';
import type { Stages } from './stages.ts';
import { createFailureEvents } from './create-failure-events.ts';

/**
 * One response, from an accepted request to its last event. Read this file first. The way of the answer is built from
 * its end: the provider's chunks are revised, become events, and these go to the client.
 *
 * @param run what `stages.startRun` made of the request
 * @param client takes batches of events, the last of them terminal
 * @throws {GatewayError} everything that went wrong before the first visible output; after it the failure is an event
 */
export async function createResponse(stages: Stages, run: Run, client: Sink<ResponseEvent>): Promise<void> {
  try {
    stages.inspectInput(run);
    const prepared = stages.prepare(run);
    const planned = stages.planRoute(run);
    const plan = planned instanceof Promise ? await planned : planned;
    const answer = stages.revise(prepared, stages.buildEvents(run, client));
    await stages.runSteps(run, plan, answer);
  } catch (error) {
    run.error = asGatewayError(error);
    if (!run.builder?.started || run.builder.ended) throw run.error;
    const events = createFailureEvents(run, run.error);
    stages.closeRun(run);
    const told = client.write(events);
    if (!run.cancellation.reason) await told; // of one that is cancelled nobody waits for the client
  } finally {
    stages.closeRun(run);
  }
}
