import { expect, it } from 'vitest';
import { Cancellation } from '../domain/cancellation.ts';
import type { HealJob, HealResult } from './response-healing/heal-worker.ts';
import { TaskThreads } from './task-threads.ts';

it('rejects a task that a thread cannot receive, and does the next one', async () => {
  const threads = new TaskThreads<HealJob, HealResult>(new URL('./response-healing/heal-worker.ts', import.meta.url));
  const run = (job: object, timeoutMs: number) =>
    threads.run(job as HealJob, { timeoutMs, memory: 2 ** 28 }, new Cancellation());
  await expect(run({ text: () => '{}' }, 1)).rejects.toThrow('could not be cloned');
  expect(await run({ text: '{}' }, 60_000)).toEqual({ isValid: true, matches: true });
});
