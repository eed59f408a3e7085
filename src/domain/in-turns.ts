/**
 * Runs one piece of work at a time. All calls during a run wait for the same next run, which sees their additions. The
 * queue therefore never grows, even if the work is slow.
 *
 * @see coalesce, for calls that do not wait
 */
export function inTurns(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  return function call(): Promise<void> {
    if (current) {
      next ??= current
        .catch(() => {}) // reported to the calls that waited for it
        .then(() => {
          next = undefined;
          return call();
        });
      return next;
    }
    current = work().finally(() => {
      current = undefined;
    });
    return current;
  };
}
