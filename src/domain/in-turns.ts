/**
 * Makes a piece of work that many may wait for. One is under way at a time; all who call during one wait for the same
 * next one, which sees what they brought. So a queue never grows, however slow the work is.
 *
 * @see again, where nobody waits
 */
export function inTurns(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  return function call(): Promise<void> {
    if (current) {
      next ??= current
        .catch(() => {}) // told to those who waited for it
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
