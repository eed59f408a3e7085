import type { Chunk } from '../../domain/chunks.ts';
import type { Sink } from '../../domain/sink.ts';
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
export async function attemptText(
  pipeline: ResponsePipeline,
  run: Run,
  attempt: TextAttempt,
  out: Sink<Chunk>,
): Promise<void> {
  const translated = translateRequest(run, attempt, pipeline);
  const written = translated instanceof Promise ? await translated : translated;
  if (run.request.stream === true && run.request.debug?.echo_upstream_body) {
    await out.write([{ type: 'debug', upstreamBody: shortenForDebug(written.body) }]);
  }
  if (attempt.isLast && !run.toolLoop) releaseMedia(run);
  beginAttempt(pipeline, run, attempt, () => writeInFlightResponse(run, attempt));
  await exchangeText(run, attempt, written, pipeline.upstreamBodyLimit(), out);
}
