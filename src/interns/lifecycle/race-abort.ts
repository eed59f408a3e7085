/**
 * Waits for work until the signal is aborted. The work continues then, and its rejection is ignored.
 *
 * @throws the error of the work, or the reason of the signal
 */
export async function raceAbort<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  work.catch(() => {}); // if the signal is first
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Creates an error for a timeout. */
export class InternTimeoutError extends Error {
  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms / 1000} s.`);
    this.name = 'InternTimeoutError';
  }
}

/**
 * Does work with a time limit.
 *
 * @param work gets a signal that is aborted at the limit and with `signal`
 * @throws the error of the work, the reason of `signal`, or an `InternTimeoutError`
 */
export async function limitTime<Value>(
  { what, ms, signal }: { what: string; ms: number; signal?: AbortSignal },
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new InternTimeoutError(what, ms)), ms);
  const both = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
  try {
    return await raceAbort(both, work(both));
  } finally {
    clearTimeout(timer);
  }
}
