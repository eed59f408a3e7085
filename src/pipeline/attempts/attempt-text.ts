import type { Chunk } from '../../domain/chunks.ts';
import type { Sink } from '../../domain/sink.ts';
import type { UpstreamRequest } from '../../providers/wire.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { beginAttempt } from '../accounting/close-run.ts';
import { shortenForDebug } from './debug-body.ts';
import { exchangeText } from './exchange-text.ts';
import { releaseMedia } from './inline-urls.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import type { Run } from '../run/run.ts';
import { writeInFlightResponse } from '../accounting/settle-run.ts';
import { translateRequest } from './translate-request.ts';

/**
 * Makes an attempt: writes the request, sends it, and reads the response into chunks, a batch for each network read.
 *
 * @param out receives chunks up to exactly one `finish`
 * @throws {GatewayError} `retryable` if another endpoint may succeed
 */
export function attemptText(
  pipeline: ResponsePipeline,
  run: Run,
  attempt: TextAttempt,
  out: Sink<Chunk>,
): Promise<void> {
  const translated = translateRequest(run, attempt, pipeline);
  if (translated instanceof Promise) return translated.then((written) => show(pipeline, run, attempt, written, out));
  return show(pipeline, run, attempt, translated, out);
}

/** Shows the translated request to the caller if it asked for that, and sends it. */
function show(
  pipeline: ResponsePipeline,
  run: Run,
  attempt: TextAttempt,
  written: UpstreamRequest,
  out: Sink<Chunk>,
): Promise<void> {
  if (run.request.stream !== true || !run.request.debug?.echo_upstream_body)
    return send(pipeline, run, attempt, written, out);
  const shown = out.write([{ type: 'debug', upstreamBody: shortenForDebug(written.body) }]);
  return Promise.resolve(shown).then(() => send(pipeline, run, attempt, written, out));
}

function send(
  pipeline: ResponsePipeline,
  run: Run,
  attempt: TextAttempt,
  written: UpstreamRequest,
  out: Sink<Chunk>,
): Promise<void> {
  if (attempt.isLast && !run.toolLoop) releaseMedia(run);
  beginAttempt(pipeline, run, attempt, () => writeInFlightResponse(run, attempt));
  return exchangeText(run, attempt, written, pipeline.upstreamBodyLimit(), out);
}
