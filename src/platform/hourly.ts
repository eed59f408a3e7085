export const HOUR_MS = 3_600_000;

/** Delay of the first run, because a start has other work to do. */
const FIRST_MS = 60_000;

/**
 * Runs background work one minute after the start, then every hour.
 *
 * @param work gets a signal that interrupts it
 * @param onTrouble called when the work fails; it runs again an hour later
 */
export function repeatHourly(
  work: (signal: AbortSignal) => Promise<unknown>,
  onTrouble: (error: unknown) => void,
): { close(): void } {
  const closing = new AbortController();
  const { signal } = closing;
  let timer: NodeJS.Timeout;
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      work(signal)
        .catch((error) => signal.aborted || onTrouble(error))
        .finally(() => signal.aborted || schedule(HOUR_MS));
    }, ms).unref();
  };
  schedule(FIRST_MS);
  return {
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
