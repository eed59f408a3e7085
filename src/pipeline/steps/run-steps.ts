import { type Chunk, isIncomplete } from '../../domain/chunks.ts';
import type { Sink } from '../../domain/sink.ts';
import { AttemptOutput } from '../attempts/attempt-output.ts';
import { addStep, listOutput, prepareTools, resumeSuspended } from './next-step.ts';
import { sealSummaries } from '../compaction/summary-sink.ts';
import { planResponse } from './plan-response.ts';
import { responseKind } from '../attempts/response-kind.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import type { Run } from '../run/run.ts';
import { joinPlugins, listRevisers } from '../run/run-plugins.ts';
import { beginTools } from '../accounting/charge-run.ts';
import { settleStep } from '../accounting/settle-run.ts';
import { walkPlan } from './walk-plan.ts';

/**
 * Runs the steps of a response. Plans the first one and walks its plan. While a step ends with calls of server tools,
 * runs the tools and then another step, which sees their results.
 *
 * @param out receives chunks up to exactly one `finish`
 * @throws {GatewayError} of the step that failed
 */
export async function runSteps(pipeline: ResponsePipeline, run: Run, out: Sink<Chunk>): Promise<void> {
  const opened = pipeline.tools?.open(run);
  if (opened?.check) await opened.check();
  const planned = planResponse(pipeline, run, opened?.settings);
  let step = planned instanceof Promise ? await planned : planned;
  if (step.plan.plugins) {
    const joined = joinPlugins(run, pipeline.plugins, step.plan.plugins);
    if (joined) await joined;
  }
  const tools = opened?.choose(step.plan) ? opened : undefined;
  run.toolLoop = tools;
  const guarding = pipeline.guardOutput?.(run);
  const guard = guarding instanceof Promise ? await guarding : guarding;
  let sink = out;
  if (tools?.prepare) ({ step, out: sink } = await prepareTools(pipeline, run, step, guard, out));
  const sealing = run.compacts && pipeline.summaries ? sealSummaries(pipeline.summaries) : undefined;
  const revisers = listRevisers(run, guard, sealing);
  if (tools && (await resumeSuspended(pipeline, run, step, guard, sink))) return;
  for (;;) {
    const current = step;
    const { finish } = await walkPlan(pipeline, run, current, responseKind, (attempt) => {
      return new AttemptOutput(run, current, attempt, { revisers, tools }, sink);
    });
    if (!tools || step.toolCalls.length === 0) return;
    settleStep(run, step);
    const output = listOutput(run, step);
    const shown = guard ? guard.open(run, sink) : sink;
    const isRunning = !isIncomplete(finish!); // incomplete calls are not run
    if (isRunning) beginTools(pipeline, run);
    const running = isRunning ? tools.run(step, shown) : undefined;
    const next = running instanceof Promise ? await running : running;
    if (guard) await shown.write([{ type: 'step_end' }]);
    if (run.cancellation.reason) throw run.cancellation.reason;
    if (!next) {
      await sink.write([finish!]); // the step has ended with one
      return;
    }
    step = await addStep(pipeline, run, step, output, next);
  }
}
