/**
 * Makes a piece of work that many may ask for at once: while it is under way, all further calls together lead to one more
 * time. So what was true when somebody called has been seen at the end.
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
