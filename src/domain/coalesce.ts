/**
 * Coalesces calls: all calls during a run of `work` together cause one more run. A run that starts after a call
 * therefore always sees the state at the time of that call.
 *
 * @param work must not reject
 */
export function coalesce(work: () => Promise<void>): () => void {
  let isRunning = false;
  let isWanted = false;
  async function run(): Promise<void> {
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      await work();
    }
    isRunning = false;
  }
  return () => {
    isWanted = true;
    if (!isRunning) void run();
  };
}
