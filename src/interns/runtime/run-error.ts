/** Why the chat API refuses or ends something. `metadata.reason` has it. @see docs/reference/intern-chat.md#errors */
export type RunProblem =
  | 'busy'
  | 'interaction_unknown'
  | 'interaction_not_pending'
  | 'bad_request'
  | 'attachment_failed'
  | 'intern_unreachable'
  | 'intern_rejected'
  | 'stream_severed'
  | 'turn_failed'
  | 'run_ended'
  | 'timeout';

/** A failure of a run. The caller reads the message. */
export class RunError extends Error {
  readonly problem: RunProblem;
  readonly retryable: boolean;
  constructor(
    problem: RunProblem,
    message: string,
    { retryable = false, cause }: { retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'RunError';
    this.problem = problem;
    this.retryable = retryable;
  }
}
