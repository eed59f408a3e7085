import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { JobClaim } from '../ports/jobs.ts';
import type { StoragePair } from './samples.ts';

const now = 1_790_000_000_000;

/** Tests the contract of jobs. */
export function testJobs(pair: () => StoragePair): void {
  const newKind = (): string => `kind-${randomUUID()}`;
  const createJob = (kind: string, dueAtMs = now) => ({ id: randomUUID(), kind, payload: '{"a":1}', dueAtMs });
  const claim = (kind: string, fields: Partial<JobClaim> = {}): JobClaim => ({
    kinds: [kind],
    holder: 'host/1',
    nowMs: now,
    limit: 10,
    ...fields,
  });

  describe('jobs', () => {
    it('are claimed once when they are due, the longest due first', async () => {
      const { storage, other } = pair();
      const kind = newKind();
      const [late, early, future] = [createJob(kind, now), createJob(kind, now - 5), createJob(kind, now + 1)];
      for (const job of [late, early, future]) await storage.jobs.wakeJob(job);
      expect(await storage.jobs.claimJobs(claim('none'))).toEqual([]);
      expect(await storage.jobs.claimJobs(claim(kind, { limit: 0 }))).toEqual([]);
      expect(await other.jobs.claimJobs(claim(kind, { limit: 1 }))).toEqual([
        { id: early.id, kind, payload: '{"a":1}', checkpoint: null, failures: 0, wakes: 1, fence: 1 },
      ]);
      expect((await storage.jobs.claimJobs(claim(kind))).map(({ id }) => id)).toEqual([late.id]);
      expect(await other.jobs.claimJobs(claim(kind))).toEqual([]);
    });

    it('are never claimed by two processes at once', async () => {
      const { storage, other } = pair();
      const kind = newKind();
      for (let left = 12; left > 0; left--) await storage.jobs.wakeJob(createJob(kind));
      const claimed = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 ? storage : other).jobs.claimJobs(claim(kind, { limit: 2 }))),
      );
      const ids = claimed.flat().map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const rest = await storage.jobs.claimJobs(claim(kind, { limit: 20 }));
      expect(ids.length + rest.length).toBe(12);
    });

    it('are taken over from a process that shows no sign of life, and it writes nothing afterwards', async () => {
      const { storage, other } = pair();
      const kind = newKind();
      const job = createJob(kind);
      await storage.jobs.wakeJob(job);
      expect(await other.jobs.listBeats([kind], 9)).toEqual([]);
      const [first] = await storage.jobs.claimJobs(claim(kind));
      expect(await storage.jobs.checkpointJob(first!, '{"step":1}')).toBe(true);
      expect(await other.jobs.readCheckpoints(['none', job.id])).toEqual([null, '{"step":1}']);
      expect(await other.jobs.readCheckpoints([])).toEqual([]);
      const [beat] = await other.jobs.listBeats([kind], 9);
      expect(beat).toEqual({ id: job.id, fence: 1, beats: 0 });
      expect(await storage.jobs.renewJobs([first!])).toEqual([{ id: job.id, fence: 1, wakes: 1 }]);
      expect(await other.jobs.takeOverJob(beat!, 'host/2')).toBeUndefined();
      const [later] = await other.jobs.listBeats(['none', kind], 9);
      expect(later).toEqual({ id: job.id, fence: 1, beats: 1 });
      const taken = await Promise.all([other, storage].map(({ jobs }) => jobs.takeOverJob(later!, 'host/2')));
      const [second, ...none] = taken.filter(Boolean);
      expect(none).toEqual([]);
      expect(second).toMatchObject({ fence: 2, checkpoint: '{"step":1}' });
      expect(await other.jobs.listBeats([], 9)).toEqual([]);
      expect(await other.jobs.listBeats([kind], 0)).toEqual([]);

      expect(await storage.jobs.renewJobs([first!, { id: 'none', fence: 1 }])).toEqual([]);
      expect(await storage.jobs.renewJobs([])).toEqual([]);
      expect(await storage.jobs.checkpointJob(first!, '{}')).toBe(false);
      expect(await storage.jobs.finishJob(first!, 1)).toBe('lost');
      expect(await storage.jobs.releaseJob(first!, { dueAtMs: now, failures: 0, wakes: 1 })).toBe(false);
      expect(await other.jobs.finishJob(second!, 1)).toBe('finished');
      expect(await other.jobs.finishJob(second!, 1)).toBe('lost');
      expect(await storage.jobs.claimJobs(claim(kind, { nowMs: now + 999 }))).toEqual([]);
    });

    it('are done again if they were requested meanwhile', async () => {
      const { storage, other } = pair();
      const kind = newKind();
      const job = createJob(kind);
      await storage.jobs.wakeJob(job);
      const [claimed] = await storage.jobs.claimJobs(claim(kind));
      await storage.jobs.checkpointJob(claimed!, '1');
      await other.jobs.wakeJob({ ...job, payload: 'ignored', dueAtMs: now + 50 });
      expect(await storage.jobs.renewJobs([claimed!])).toMatchObject([{ wakes: 2 }]);
      expect(await storage.jobs.finishJob(claimed!, 1)).toBe('woken');
      const [again] = await other.jobs.claimJobs(claim(kind));
      expect(again).toMatchObject({ fence: 2, wakes: 2, payload: '{"a":1}', checkpoint: null });
      expect(await other.jobs.finishJob(again!, 2)).toBe('finished');
    });

    it('are due later after a failure, unless they are requested again', async () => {
      const { jobs } = pair().storage;
      const kind = newKind();
      const job = createJob(kind);
      await jobs.wakeJob(job);
      const [first] = await jobs.claimJobs(claim(kind));
      expect(await jobs.releaseJob(first!, { dueAtMs: now + 500, failures: 1, wakes: 1 })).toBe(true);
      expect(await jobs.renewJobs([first!])).toEqual([]);
      expect(await jobs.claimJobs(claim(kind, { nowMs: now + 499 }))).toEqual([]);
      const [second] = await jobs.claimJobs(claim(kind, { nowMs: now + 500 }));
      expect(second).toMatchObject({ fence: 2, failures: 1 });
      await jobs.wakeJob(job);
      await jobs.releaseJob(second!, { dueAtMs: now + 9000, failures: 2, wakes: 1 });
      const [third] = await jobs.claimJobs(claim(kind, { nowMs: now + 501 }));
      expect(third).toMatchObject({ fence: 3, failures: 2, wakes: 2 });
      expect(await jobs.checkpointJob(third!, '1')).toBe(true);
      await jobs.releaseJob(third!, { dueAtMs: now, failures: 0, wakes: 2 });
      await jobs.wakeJob({ ...job, dueAtMs: now + 900 }); // stays due
      expect(await jobs.claimJobs(claim(kind))).toMatchObject([{ checkpoint: '1', failures: 0 }]);
    });
  });
}
