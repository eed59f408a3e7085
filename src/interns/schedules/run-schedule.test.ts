import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createScheduleJob, type InternSchedule, SCHEDULE_JOB } from '../../domain/intern-schedule.ts';
import type { Intern } from '../../domain/intern.ts';
import { explainCron, findDueTime, isTimeZone } from '../../management/interns/schedules/due-time.ts';
import { type JobRunner, runJobs } from '../../platform/jobs/run-jobs.ts';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { RunError } from '../runtime/run-error.ts';
import type { NewRun } from '../runtime/runs.ts';
import { runSchedule } from './run-schedule.ts';
import { createClockCheck } from './watch-clock.ts';

const times = (cron: string, zone: string, from: string, count: number): string[] => {
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count; ) {
    at = findDueTime(cron, zone, at)!;
    found.push(new Date(at).toISOString().slice(5, 16));
  }
  return found;
};

describe('due times', () => {
  it('follow the clock of their time zone', () => {
    expect(times('0 9 * * 1-5', 'Europe/Berlin', '2026-03-27T00:00:00Z', 3)).toEqual([
      '03-27T08:00',
      '03-30T07:00',
      '03-31T07:00',
    ]);
    expect(times('*/20 * * * *', 'UTC', '2026-03-29T00:59:00Z', 3)).toEqual([
      '03-29T01:00',
      '03-29T01:20',
      '03-29T01:40',
    ]);
    expect(findDueTime('0 0 31 2 *', 'UTC', 0)).toBeNull();
  });

  it('that a clock change skips are due right after it, and a fixed one that it repeats is due once', () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual(['03-29T01:00', '03-30T00:30']);
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual(['10-25T00:30', '10-26T01:30']);
    expect(times('0 * * * *', 'America/New_York', '2026-11-01T04:30:00Z', 3)).toEqual([
      '11-01T05:00',
      '11-01T06:00',
      '11-01T07:00',
    ]);
  });

  it('need five fields and a time zone of the database', () => {
    expect(['0 9 * * MON-FRI', '*/5 0-6 1,15 JAN *', '0 0 L * *'].map(explainCron)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    for (const cron of ['', 'x', '* * * *', '* * * * * *', '60 * * * *', '@daily', '2026-01-01T00:00:00']) {
      expect([cron, explainCron(cron)]).toEqual([cron, expect.any(String)]);
    }
    expect(['UTC', 'Asia/Kathmandu', 'Mars/One', '+02:00'].map(isTimeZone)).toEqual([true, true, false, false]);
  });
});

describe('the runs of a schedule', () => {
  const minute = 60_000;
  const start = Date.parse('2026-01-05T10:00:00Z');
  let storage: Storage;
  let clockMs: number;
  let elapsedMs: number;
  let intern: Pick<Intern, 'id' | 'status'> | undefined;
  let isBusy: boolean;
  let begun: NewRun[];
  let finish: (run: NewRun) => void;
  let outcomes: string[];
  const runners: JobRunner[] = [];

  beforeEach(async () => {
    vi.useFakeTimers();
    [clockMs, elapsedMs] = [start, 0];
    [isBusy, begun, outcomes] = [false, [], []];
    finish = ({ reader }) =>
      reader!.event({ type: 'end', status: 'completed', usage: undefined } as unknown as Parameters<
        NonNullable<NewRun['reader']>['event']
      >[0]);
    storage = await openSqliteStorage(':memory:');
    await storage.migrate();
    intern = await addIntern();
  });
  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.close()));
    await storage.close();
    vi.useRealTimers();
  });

  async function addIntern(): Promise<Intern> {
    const intern: Intern = {
      id: randomUUID(),
      workspaceId: 'w',
      creatorId: 'ada',
      name: 'scout',
      description: null,
      instructions: null,
      model: null,
      status: 'running',
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
      createdAtMs: start,
      updatedAtMs: start,
    };
    await storage.access.putWorkspace({ id: 'w', name: 'w', createdAtMs: start });
    const more = { requestHash: 'r', bodyHash: 'b', maxPerMember: 9, canAttach: true };
    await storage.interns.addIntern({ intern, ...more, change: { atMs: start, actorKeyHash: null } });
    return intern;
  }
  async function addSchedule(fields: Partial<InternSchedule> = {}): Promise<string> {
    const schedule: InternSchedule = {
      id: randomUUID(),
      internId: intern!.id,
      kind: 'cron',
      cron: '* * * * *',
      timeZone: 'UTC',
      input: 'Work.',
      tokenHash: null,
      isPaused: false,
      nextDueAtMs: start + minute,
      createdAtMs: start,
      updatedAtMs: start,
      ...fields,
    };
    const event = { action: 'a', objectKind: 'o', objectId: 'i', workspaceId: null, changes: {} };
    const job = createScheduleJob(schedule.id, schedule.nextDueAtMs ?? start);
    await storage.schedules.addSchedule(
      schedule,
      { maxPerIntern: 9 },
      { change: { atMs: start, actorKeyHash: null }, event, job },
    );
    return schedule.id;
  }
  /** @param isOwner whether the process runs the intern */
  function openProcess(isOwner = true): JobRunner {
    const runs = {
      get isBusy() {
        return isBusy;
      },
      start(run: NewRun) {
        if (isBusy) throw new RunError('busy', 'Busy.');
        begun.push(run);
        finish(run);
        return { accepted: Promise.resolve(), detach: () => {} };
      },
    };
    const parts = {
      interns: { findIntern: async () => intern as Intern | undefined }, // only its id and status are read
      schedules: storage.schedules,
      findLive: () => (isOwner ? { runs } : undefined),
      now: () => clockMs,
      numbers: { ranScheduled: (outcome: string) => void outcomes.push(outcome) },
      log: () => {},
    };
    const runner = runJobs({
      store: storage.jobs,
      holder: 'host',
      now: () => clockMs,
      elapsed: () => elapsedMs,
      leaseMs: 1000,
      pollMs: 500,
      kinds: [{ kind: SCHEDULE_JOB, work: (job) => runSchedule(parts, job), maxOwned: () => 5 }],
      onTrouble: (error) => expect.unreachable(String(error)),
    });
    runners.push(runner);
    return runner;
  }
  const pass = async (ms: number, step = 100): Promise<void> => {
    for (let left = ms; left > 0; left -= step) {
      clockMs += step;
      elapsedMs += step;
      await vi.advanceTimersByTimeAsync(step);
    }
  };

  it('are begun once for a due time by several processes, whichever runs the intern', async () => {
    const id = await addSchedule();
    openProcess();
    openProcess();
    openProcess(false);
    await pass(2 * minute + 30_000, 500);
    expect(begun).toHaveLength(2);
    expect(begun[0]).toMatchObject({ sessionId: id, input: 'Work.', mode: 'self-drive' });
    expect(outcomes).toEqual(['completed', 'completed']);
    expect(await storage.schedules.findLastRun(id)).toMatchObject({ dueAtMs: start + 2 * minute, status: 'completed' });
    expect(await storage.schedules.findSchedule(id)).toMatchObject({ nextDueAtMs: start + 3 * minute });
  });

  it('is one for all times that were missed', async () => {
    const id = await addSchedule();
    clockMs += 60 * minute + 1;
    openProcess();
    await pass(1000);
    expect(begun).toHaveLength(1);
    expect(await storage.schedules.findLastRun(id)).toMatchObject({ dueAtMs: start + minute });
    expect(await storage.schedules.findSchedule(id)).toMatchObject({ nextDueAtMs: start + 61 * minute });
  });

  it('are not repeated after a process was killed', async () => {
    const id = await addSchedule();
    finish = () => {}; // never ends
    const killed = openProcess();
    await pass(minute + 1000);
    expect(await storage.schedules.findOpenRun(id)).toMatchObject({ status: 'running' });
    void killed;
    await storage.jobs.releaseAllJobs(); // as at the next start
    openProcess();
    await pass(2000);
    expect(begun).toHaveLength(1);
    expect(outcomes).toEqual(['interrupted']);
    expect(await storage.schedules.findLastRun(id)).toMatchObject({ status: 'interrupted' });
  });

  it('go on after the clock was set back, without a second run of a time', async () => {
    const id = await addSchedule();
    const check = createClockCheck({ ...storage, now: () => clockMs, elapsed: () => elapsedMs });
    await check();
    openProcess();
    clockMs += 24 * 60 * minute; // wrong for a while
    await pass(minute, 500);
    await check();
    expect(begun.length).toBeGreaterThan(0);
    clockMs -= 24 * 60 * minute;
    const before = begun.length;
    await pass(minute, 500);
    expect(begun).toHaveLength(before); // it waits for a time of the next day
    await check();
    await pass(2 * minute, 500);
    expect(begun).toHaveLength(before + 2);
    clockMs -= 2 * minute;
    await check();
    await pass(2 * minute - 1000, 500);
    expect(begun).toHaveLength(before + 2);
    expect((await storage.schedules.findSchedule(id))!.nextDueAtMs).toBeLessThan(clockMs + minute);
  });

  it('wait for an intern that starts or works, for ten minutes', async () => {
    const id = await addSchedule({ cron: '1 * * * *' });
    isBusy = true;
    openProcess();
    await pass(minute + 5000, 500);
    expect(begun).toEqual([]);
    isBusy = false;
    await pass(5000, 500);
    expect(outcomes).toEqual(['completed']);
    intern = { ...intern!, status: 'queued' };
    clockMs += 60 * minute;
    await pass(5000, 500);
    expect(outcomes).toEqual(['completed']);
    clockMs += 10 * minute;
    await pass(5000, 500);
    expect(outcomes).toEqual(['completed', 'skipped']);
    expect(await storage.schedules.findLastRun(id)).toMatchObject({
      status: 'skipped',
      failure: 'The intern did not start. The run waited 10 minutes.',
    });
  });

  it.each([
    ['skipped', 'The intern was stopped. Provision it.', () => (intern = { ...intern!, status: 'stopped' })],
    ['failed', 'It broke.', () => (finish = ({ reader }) => reader!.failed(new RunError('turn_failed', 'It broke.')))],
    [
      'failed',
      'The intern asked a question. A schedule cannot answer it.',
      () => (finish = ({ reader }) => reader!.event({ type: 'interaction', interaction: { id: 'a' } } as never)),
    ],
  ])('end as %s: %s', async (status, failure, prepare) => {
    const id = await addSchedule();
    prepare();
    openProcess();
    await pass(minute + 1000, 500);
    expect(await storage.schedules.findLastRun(id)).toMatchObject({ status, failure, input: '' });
    expect(outcomes).toEqual([status]);
  });
});
