import { asGatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { Run } from './run.ts';
import type { Stages } from './stages.ts';

/**
 * One response, from an accepted request to its last event. Read this file first.
 *
 * @param run what `stages.startRun` made of the request
 * @returns batches of events, the last of them terminal
 * @throws {GatewayError} everything that went wrong before the first visible output; after it the failure is an event
 */
export async function* createResponse(stages: Stages, run: Run): AsyncGenerator<ResponseEvent[]> {
  try {
    stages.inspectInput(run);
    const prepared = stages.prepare(run);
    const plan = stages.planRoute(run);
    const chunks = stages.runSteps(run, plan);
    for await (const events of stages.buildEvents(run, stages.revise(prepared, chunks))) {
      if (run.builder?.ended) stages.closeRun(run); // booked before the client can have all of it
      yield events;
    }
  } catch (error) {
    run.error = asGatewayError(error);
    throw run.error;
  } finally {
    stages.closeRun(run);
  }
}
