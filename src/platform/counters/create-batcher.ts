/** The most that go together. */
const MOST = 200;

/**
 * Runs jobs in batches: what comes while a batch is under way goes together in the next one, so that a place far away is
 * asked no more often than it answers.
 *
 * @param run answers all jobs of a batch, in their order, or rejects for all of them
 */
export function createBatcher<Job, Answer>(run: (jobs: Job[]) => Promise<Answer[]>): (job: Job) => Promise<Answer> {
  interface Waiting {
    job: Job;
    resolve: (answer: Answer) => void;
    reject: (error: unknown) => void;
  }
  const waiting: Waiting[] = [];
  let isRunning = false;

  async function drain(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MOST);
      try {
        const answers = await run(batch.map(({ job }) => job));
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index]!);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isRunning = false;
  }

  return (job) => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    waiting.push({ job, resolve, reject });
    if (!isRunning) void drain();
    return promise;
  };
}
