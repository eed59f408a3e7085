/** Not at once: a start has other things to do. */
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;

/**
 * Does what can wait, a minute after the start and then every hour.
 *
 * @param work given a signal that says when to end in the middle
 * @param onTrouble told when it fails; it is tried again an hour later
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
        .finally(() => signal.aborted || schedule(EVERY_MS));
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
