import { planRoute } from '../routing/plan-route.ts';
import { getTextWire } from '../providers/text-wire.ts';
import { dispatch, readFailure, takeKey, upstreamOf } from './attempts/exchange.ts';
import { replaceHeaders } from './attempts/exchange-text.ts';
import { releaseMedia } from './attempts/inline-urls.ts';
import { readErrorBody } from './attempts/read-response.ts';
import { translateRequest } from './attempts/translate-request.ts';
import type { ResponsePipeline } from './response-pipeline.ts';
import { createTextAttempt, type TextAttempt } from './run/attempt.ts';
import { inspectInput } from './run/inspect-input.ts';
import { buildRequest, type Run } from './run/run.ts';
import { createStep } from './run/step.ts';
import { writeJson } from '../domain/write-json.ts';

/** The maximum wait for a count. Clients count before each message, and the estimate takes microseconds. */
const COUNT_MS = 10_000;

/**
 * Counts the tokens of an input at the first endpoint of its plan. Nothing is generated, reserved or recorded.
 *
 * @returns undefined if the protocol of the endpoint cannot count, or the call fails
 * @throws {GatewayError} if an inspector blocks the input, or the run is cancelled
 * @see docs/reference/messages.md#post-messagescount_tokens
 */
export async function countAtProvider(pipeline: ResponsePipeline, run: Run): Promise<number | undefined> {
  const inspected = inspectInput(run, pipeline.inspectors);
  if (inspected) await inspected;
  try {
    const attempt = await planCount(pipeline, run);
    return attempt && (await sendCount(pipeline, run, attempt));
  } catch {
    if (run.cancellation.reason) throw run.cancellation.reason;
    return undefined; // the client gets the estimate, and the header names the method: choice 740
  } finally {
    releaseMedia(run);
  }
}

/** @returns undefined if the first endpoint cannot count. @throws {GatewayError} if there is none */
async function planCount(pipeline: ResponsePipeline, run: Run): Promise<TextAttempt | undefined> {
  const plan = planRoute(buildRequest(run), run.caller, pipeline.routingContext(), {}, () => {});
  const endpoint = plan.endpoints[0]!; // a plan has at least one
  const { wire } = endpoint.provider;
  if (!wire.text?.count || (await run.modelLimits?.enter(endpoint.model))) return undefined;
  run.toolLoop = pipeline.tools?.open(run);
  if (run.toolLoop?.prepare) return undefined; // its tools are known only after calls of other servers
  const attempt = createTextAttempt(endpoint, { wire, isLast: true, isRetry: false });
  const step = createStep<TextAttempt>(plan, run.toolLoop && { settings: run.toolLoop.settings });
  step.attempts.push(attempt);
  run.steps.push(step);
  return attempt;
}

async function sendCount(pipeline: ResponsePipeline, run: Run, attempt: TextAttempt): Promise<number | undefined> {
  const { endpoint, wire } = attempt;
  const { provider } = endpoint;
  const { count } = getTextWire(wire);
  const written = await translateRequest(run, attempt, pipeline);
  const { path, body } = count!.writeRequest(written);
  let tokens: number | undefined;
  await dispatch(attempt, async () => {
    const given = provider.headersFor(takeKey(attempt), false);
    const headers = written.headers ? replaceHeaders(given, written.headers) : given;
    const json = Buffer.from(writeJson(body));
    const how = { firstByteMs: COUNT_MS };
    const response = await upstreamOf(provider).send(path, headers, json, run.cancellation, how);
    try {
      if (response.status === 200)
        tokens = count!.read(await readErrorBody(response)); // a few bytes, bounded
      else {
        const failure = await readFailure(response, wire.readError);
        if (failure.blamesKey && attempt.key !== undefined) provider.keys.rest(attempt.key, failure);
      }
    } finally {
      response.release();
    }
  });
  return tokens;
}
