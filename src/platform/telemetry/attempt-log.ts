import { describeFailure } from './describe-failure.ts';
import type { WriteLog } from './log-messages.ts';
import { listAttempts, type ObservedAttempt, type ObservedRun } from './observed.ts';
import type { RejectedKeyLog } from './rejected-key-log.ts';

/**
 * Writes a line for each failed attempt, at `debug` if the line of the request lists it. The failure that ended a run is
 * logged with the response, unless the gateway itself made the request. A rejected key has a line of its own, which is
 * not repeated.
 *
 * @param isListed whether the log has a line of the request, with its failed attempts
 */
export function logFailedAttempts(
  log: WriteLog,
  rejectedKeys: RejectedKeyLog,
  run: ObservedRun,
  isListed: boolean,
): void {
  const { error, origin } = run;
  const attempts = listAttempts(run);
  const end = error && origin ? attempts.length - 1 : attempts.length;
  for (const [at, attempt] of attempts.entries()) {
    for (const { name, settings } of attempt.learned ?? []) {
      const { provider, upstreamModel: model } = attempt.endpoint;
      log('provider rule learned', { provider: provider.id, model, refused: name, dialect: JSON.stringify(settings) });
    }
    if (!attempt.error) continue;
    const isReported = rejectedKeys.noteAttempt(attempt) || isListed;
    if (at < end) writeAttempt(log, run, attempt, isReported ? 'debug' : attempt.status >= 500 ? 'warn' : 'info');
  }
}

function writeAttempt(
  log: WriteLog,
  run: ObservedRun,
  { endpoint, error, upstreamRequestId }: ObservedAttempt,
  level: 'debug' | 'info' | 'warn',
): void {
  log(
    'attempt failed',
    {
      request_id: run.origin?.requestId,
      generation_id: run.generationId,
      model: endpoint.model,
      provider: endpoint.provider.name,
      rescued: run.error === undefined,
      ...(upstreamRequestId !== undefined && { upstream_request_id: upstreamRequestId }),
      ...describeFailure(error!),
    },
    level,
  );
}
