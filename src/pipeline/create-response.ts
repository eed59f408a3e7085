import { asGatewayError, GatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { Sink } from '../domain/sink.ts';
import { closeResponse } from './steps/close-response.ts';
import { openEvents } from './events/event-stage.ts';
import { failRun } from './events/fail-run.ts';
import { inspectInput, inspectNew } from './run/inspect-input.ts';
import { explainByPlugins, preparePlugins } from './run/run-plugins.ts';
import type { ResponsePipeline } from './response-pipeline.ts';
import type { Run } from './run/run.ts';
import { describeRoute } from './steps/plan-response.ts';
import { runSteps } from './steps/run-steps.ts';

/**
 * Serves one response, from an accepted request to its last event. Read this file first.
 *
 * @param run comes from `createRun`
 * @param client receives batches of events, the last of them terminal
 * @throws {GatewayError} for a failure before the first event; a later failure is an event
 */
export async function createResponse(pipeline: ResponsePipeline, run: Run, client: Sink<ResponseEvent>): Promise<void> {
  const close = () => closeResponse(pipeline, run);
  const limitBytes = pipeline.upstreamBodyLimit();
  const events = openEvents(run, client, { region: pipeline.region(), limitBytes, close });
  try {
    const inspected = inspectInput(run, pipeline.inspectors);
    if (inspected) await inspected;
    if (run.request.plugins) {
      const before = run.input.read();
      try {
        const prepared = preparePlugins(run, pipeline.plugins);
        if (prepared) await prepared;
      } catch (error) {
        if (error instanceof GatewayError && error.kind === 'permission_denied') run.isBlocked = true;
        throw error;
      }
      const after = run.input.read();
      if (after !== before) run.input.replace(await inspectNew(run, pipeline.inspectors, before, after));
    }
    await runSteps(pipeline, run, events);
  } catch (error) {
    run.error = explainByPlugins(run, asGatewayError(error));
    if (run.isBlocked && run.metadata) describeRoute(pipeline, run);
    if (run.firstOutputAt === undefined || run.builder?.ended) throw run.error;
    const last = failRun(run, run.error);
    await close();
    const passed = client.write(last);
    if (!run.cancellation.reason) await passed; // a cancelled run does not wait for its client
  } finally {
    const recorded = close();
    if (recorded) await recorded;
  }
}
