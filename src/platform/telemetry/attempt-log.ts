import { describeFailure } from './describe-failure.ts';
import type { ObservedAttempt, ObservedRun } from './observed.ts';

/** What is needed of pino. */
export interface AttemptLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * A line for each failed attempt that nobody else tells of: the caller has another endpoint's answer and saw nothing of
 * it. The failure that ended a run is told where it is answered, unless the gateway itself asked.
 */
export function logFailedAttempts(log: AttemptLogger, run: ObservedRun): void {
  const { attempts, error, origin } = run;
  const end = error && origin ? attempts.length - 1 : attempts.length;
  for (let at = 0; at < end; at++) if (attempts[at]!.error) writeAttempt(log, run, attempts[at]!);
}

function writeAttempt(log: AttemptLogger, run: ObservedRun, { endpoint, error, status }: ObservedAttempt): void {
  const { fields, message } = describeFailure(error!);
  log[status >= 500 ? 'warn' : 'info'](
    {
      request_id: run.origin?.requestId,
      generation_id: run.generationId,
      model: endpoint.model,
      provider: endpoint.provider.name,
      rescued: run.error === undefined,
      ...fields,
    },
    message,
  );
}
