import { describeFailure } from './describe-failure.ts';
import type { WriteLog } from './log-messages.ts';
import { listAttempts, type ObservedAttempt, type ObservedRun } from './observed.ts';

/**
 * Writes a line for each failed attempt that no other line reports. In that case, the caller received the response of
 * another endpoint and did not notice the failure. The failure that ended a run is logged with the response, unless the
 * gateway itself made the request.
 */
export function logFailedAttempts(log: WriteLog, run: ObservedRun): void {
  const { error, origin } = run;
  const attempts = listAttempts(run);
  const end = error && origin ? attempts.length - 1 : attempts.length;
  for (let at = 0; at < end; at++) if (attempts[at]!.error) writeAttempt(log, run, attempts[at]!);
}

function writeAttempt(log: WriteLog, run: ObservedRun, { endpoint, error, status }: ObservedAttempt): void {
  log(
    'attempt failed',
    {
      request_id: run.origin?.requestId,
      generation_id: run.generationId,
      model: endpoint.model,
      provider: endpoint.provider.name,
      rescued: run.error === undefined,
      ...describeFailure(error!),
    },
    status >= 500 ? 'warn' : 'info',
  );
}
