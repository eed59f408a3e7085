/** Maximum number of jobs in a batch. */
const MAX_BATCH = 200;

/**
 * Runs jobs in batches. Jobs that arrive while a batch runs form the next batch, so that a remote server gets one call
 * at a time.
 *
 * @param run returns the results of a batch in the order of its jobs, or rejects for all of them
 */
export function createBatcher<Job, Result>(run: (jobs: Job[]) => Promise<Result[]>): (job: Job) => Promise<Result> {
  interface Waiting {
    job: Job;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
  }
  const waiting: Waiting[] = [];
  let isRunning = false;

  async function drain(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_BATCH);
      try {
        const results = await run(batch.map(({ job }) => job));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isRunning = false;
  }

  return (job) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ job, resolve, reject });
    if (!isRunning) void drain();
    return promise;
  };
}
