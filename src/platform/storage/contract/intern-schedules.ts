import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createScheduleJob, type InternSchedule, type ScheduledRun } from '../../../domain/intern-schedule.ts';
import type { Intern } from '../../../domain/intern.ts';
import { change, createWorkspaceDetails, type StoragePair, saveTestWorkspace } from './samples.ts';

const now = 1_790_000_000_000;

/** Tests the contract of schedules of interns. */
export function testInternSchedules(pair: () => StoragePair): void {
  const createSchedule = (internId: string, fields: Partial<InternSchedule> = {}): InternSchedule => ({
    id: randomUUID(),
    internId,
    kind: 'cron',
    cron: '* * * * *',
    timeZone: 'UTC',
    input: 'go',
    tokenHash: null,
    isPaused: false,
    nextDueAtMs: now,
    createdAtMs: now,
    updatedAtMs: now,
    ...fields,
  });
  const createRun = (scheduleId: string, fields: Partial<ScheduledRun> = {}): ScheduledRun => ({
    id: randomUUID(),
    scheduleId,
    dueKey: String(now),
    dueAtMs: now,
    input: 'go',
    status: 'pending',
    failure: null,
    addedAtMs: now,
    startedAtMs: null,
    endedAtMs: null,
    ...fields,
  });
  const describeChange = (id: string) => ({
    change,
    event: { action: 'a', objectKind: 'intern_schedule', objectId: id, workspaceId: null, changes: {} },
    job: createScheduleJob(id, now),
  });
  const add = (schedule: InternSchedule, maxPerIntern = 9) =>
    pair().storage.schedules.addSchedule(schedule, { maxPerIntern }, describeChange(schedule.id));
  const claim = async (id: string, storage = pair().storage) => {
    const jobs = await storage.jobs.claimJobs({ kinds: ['intern-schedule'], holder: 'h', nowMs: now, limit: 1000 });
    return jobs.find((job) => job.id === `intern-schedule:${id}`)!;
  };

  describe('schedules of interns', () => {
    let internId: string;
    const addIntern = async (): Promise<string> => {
      const id = randomUUID();
      const workspace = createWorkspaceDetails();
      await saveTestWorkspace(pair(), workspace);
      const intern: Intern = {
        id,
        workspaceId: workspace.id,
        creatorId: 'ada',
        name: 'scout',
        description: null,
        instructions: null,
        model: null,
        status: 'destroying',
        hostname: null,
        vaultId: randomUUID(),
        hasVault: false,
        attachedVaultId: null,
        step: null,
        lastFailureMessage: null,
        failureReason: null,
        runtimeAddress: null,
        isStopRequested: false,
        acknowledgesLoss: false,
        createdAtMs: now,
        updatedAtMs: now,
      };
      const more = { requestHash: id, bodyHash: 'b', maxPerMember: 100, canAttach: true, change };
      await pair().storage.interns.addIntern({ intern, ...more });
      return id;
    };
    beforeAll(async () => {
      internId = await addIntern();
    });

    it('are added up to a limit, listed, changed and deleted with audit entries', async () => {
      const { storage, other } = pair();
      const [first, second] = [
        createSchedule(internId, { createdAtMs: now - 5 }),
        createSchedule(internId, {
          kind: 'webhook',
          cron: null,
          timeZone: null,
          tokenHash: 't',
          nextDueAtMs: null,
        }),
      ];
      const countAudit = async () => (await storage.management.listAudit({ offset: 0, limit: 1 })).total;
      const before = await countAudit();
      expect(await add(first)).toBeUndefined();
      expect(await add(second)).toBeUndefined();
      expect(await add(createSchedule(internId), 2)).toBe('limit');
      expect(await add(createSchedule(randomUUID()))).toBe('intern');
      expect(await other.schedules.listSchedules(internId)).toEqual([first, second]);
      expect(await other.schedules.findSchedule(second.id)).toEqual(second);
      expect(await other.schedules.findSchedule('none')).toBeUndefined();
      const due = await other.schedules.listDueSchedules({ after: undefined, limit: 1000 });
      expect([due.includes(first.id), due.includes(second.id)]).toEqual([true, false]);
      expect(await other.schedules.listDueSchedules({ after: due.at(-1), limit: 9 })).toEqual([]);
      const fields = { isPaused: true, nextDueAtMs: null, updatedAtMs: now + 1 };
      expect(await storage.schedules.updateSchedule(first.id, fields, describeChange(first.id))).toEqual({
        ...first,
        ...fields,
      });
      expect(await storage.schedules.updateSchedule('none', fields, describeChange('none'))).toBeUndefined();
      expect(await storage.schedules.deleteSchedule(first.id, describeChange(first.id))).toBe(true);
      expect(await storage.schedules.deleteSchedule(first.id, describeChange(first.id))).toBe(false);
      expect((await countAudit()) - before).toBe(4);
    });

    it('get one run for a due time, which only the owner of the job changes', async () => {
      const { storage, other } = pair();
      const schedule = createSchedule(internId);
      const { id } = schedule;
      await add(schedule);
      const job = await claim(id);
      const move = { id, fromMs: now, toMs: now + 60_000, run: createRun(id) };
      const stale = { id: job.id, fence: job.fence - 1 };
      expect(await storage.schedules.moveSchedule(stale, move)).toBe(false);
      expect(await storage.schedules.moveSchedule(job, move)).toBe(true);
      expect(await other.schedules.moveSchedule(job, move)).toBe(false);
      const back = { id, fromMs: now + 60_000, toMs: now, run: undefined };
      expect(await storage.schedules.moveSchedule(job, back)).toBe(true);
      const again = createRun(id, { addedAtMs: now - 1 }); // as after the clock was set back
      expect(await storage.schedules.moveSchedule(job, { ...move, run: again })).toBe(true);
      expect(await other.schedules.findOpenRun(id)).toEqual(move.run);

      const running = { status: 'running', failure: null, startedAtMs: now, endedAtMs: null } as const;
      const ended = { status: 'failed', failure: 'f', startedAtMs: now, endedAtMs: now + 1 } as const;
      expect(await storage.schedules.updateRun(stale, move.run, running, 9)).toBe(false);
      expect(await storage.schedules.updateRun(job, move.run, running, 9)).toBe(true);
      expect(await storage.schedules.updateRun(job, move.run, running, 9)).toBe(false);
      const begun = { ...move.run, ...running };
      expect(await other.schedules.findOpenRun(id)).toEqual(begun);
      expect(await storage.schedules.updateRun(job, begun, ended, 9)).toBe(true);
      expect(await other.schedules.findOpenRun(id)).toBeUndefined();
      expect(await other.schedules.findLastRun(id)).toEqual({ ...begun, ...ended, input: '' });

      const next = createRun(id, { dueKey: 'b', dueAtMs: now + 5 });
      await storage.schedules.moveSchedule(job, { id, fromMs: now + 60_000, toMs: null, run: next });
      await storage.schedules.updateRun(job, next, ended, 1);
      expect(await storage.schedules.findLastRun(id)).toMatchObject({ id: next.id, dueKey: 'b' });
      const repeated = createRun(id, { addedAtMs: now + 9 }); // the run of this time is no longer remembered
      const setNext = { nextDueAtMs: now };
      await storage.schedules.updateSchedule(id, setNext, describeChange(id));
      await storage.schedules.moveSchedule(job, { id, fromMs: now, toMs: null, run: repeated });
      expect(await storage.schedules.findOpenRun(id)).toEqual(repeated);
    });

    it('take a limited number of requested runs at once, and none while they are paused', async () => {
      const { storage, other } = pair();
      const schedule = createSchedule(internId, { kind: 'webhook', cron: null, timeZone: null, nextDueAtMs: null });
      await add(schedule);
      const request = (at: number) => {
        const run = createRun(schedule.id, { dueKey: `r${at}`, addedAtMs: now + at });
        return (at % 2 ? storage : other).schedules.addRequestedRun(
          run,
          { maxPending: 3 },
          describeChange(schedule.id).job,
        );
      };
      const taken = await Promise.all([0, 1, 2, 3, 4, 5].map(request));
      expect(taken.filter(Boolean)).toHaveLength(3);
      expect(await claim(schedule.id)).toBeDefined();
      await storage.schedules.updateSchedule(schedule.id, { isPaused: true }, describeChange(schedule.id));
      const run = createRun(schedule.id, { dueKey: 'late' });
      const { job } = describeChange(schedule.id);
      expect(await storage.schedules.addRequestedRun(run, { maxPending: 30 }, job)).toBe(false);
    });

    it('are deleted with their intern', async () => {
      const { storage } = pair();
      const id = await addIntern();
      const schedule = createSchedule(id);
      await add(schedule);
      const job = await claim(schedule.id);
      await storage.schedules.moveSchedule(job, {
        id: schedule.id,
        fromMs: now,
        toMs: null,
        run: createRun(schedule.id),
      });
      await storage.jobs.wakeJob({ id: `intern:${id}`, kind: id, payload: '{}', dueAtMs: now });
      const [owner] = await storage.jobs.claimJobs({ kinds: [id], holder: 'h', nowMs: now, limit: 1 });
      expect(await storage.interns.deleteIntern(id, owner!, change)).toBe(true);
      expect(await storage.schedules.findSchedule(schedule.id)).toBeUndefined();
      expect(await storage.schedules.findOpenRun(schedule.id)).toBeUndefined();
    });
  });
}
