import type { ClaimedJob, JobBeat, JobLease, JobStore } from '../storage/ports/jobs.ts';

/** A job that this process owns. */
export interface OwnedJob {
  readonly id: string;
  readonly payload: string;
  /** State that this owner or an earlier one has stored. */
  readonly checkpoint: string | null;
  /** Consecutive failures before this claim, without progress since then. */
  readonly failures: number;
  readonly lease: JobLease;
  /** Aborted when another process may own the job, and on shutdown: `signal.reason` has the cause. */
  readonly signal: AbortSignal;
  /** How often the work was requested, as far as this process knows. Read it before the state that the work depends on. */
  readonly wakes: number;
  /** Ends `waitForWake`. */
  wake(): void;
  /** Resolves when the work was requested again, after the time, and when the signal is aborted. */
  waitForWake(maxMs: number): Promise<void>;
  /** @throws {JobLostError} if another process owns the job */
  saveCheckpoint(checkpoint: string): Promise<void>;
}

/** `wakes`: requests that are done; the job is deleted unless there are more. `retryInMs`: gives it to any process, later. */
export type JobOutcome = { wakes: number; retryInMs?: undefined } | { retryInMs: number };

/** A rejection is a failure: the job is tried again after a delay that grows. */
export type JobWork = (job: OwnedJob) => Promise<JobOutcome>;

export interface JobKind {
  kind: string;
  work: JobWork;
  /** Maximum number of owned jobs. */
  maxOwned: () => number;
}

export interface JobRunnerParts {
  store: JobStore;
  kinds: readonly JobKind[];
  /** This process, for operators. */
  holder: string;
  /** Unix milliseconds by the clock that all processes share. */
  now: () => number;
  /** Milliseconds that only grow, also if the clock of the host is changed. */
  elapsed: () => number;
  onTrouble: (error: unknown, job: { id: string; kind: string } | undefined) => void;
  /**
   * Called once when the owner of a job has not renewed its lease for as long as it lasts: it has ended its work by then, or
   * will before it does anything else.
   */
  onSilent?: (jobId: string) => Promise<void>;
  leaseMs?: number;
  pollMs?: number;
  /** Delay after the first failure of a job. It doubles with each further one. */
  retryMs?: number;
}

export interface JobRunner {
  /** Looks for due jobs now, and wakes an owned one. */
  notify(jobId?: string): void;
  readonly owned: number;
  /** Ends the work and gives the jobs back. */
  close(): Promise<void>;
}

const LEASE_MS = 10_000;
/** Leases that pass before a job is taken over: its owner ends its work after one. */
const LEASES_TO_WAIT = 2;
/** Maximum number of owned jobs of all processes that one process watches. */
const MAX_WATCHED = 10_000;
const POLL_MS = 1000;
const RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;

/** Another process owns the job, or may do so by now. */
export class JobLostError extends Error {
  constructor() {
    super('The job is owned by another process.');
    this.name = 'JobLostError';
  }
}

/** The process shuts down. The job stays in the queue. */
export class JobsClosedError extends Error {
  constructor() {
    super('The gateway is shutting down.');
    this.name = 'JobsClosedError';
  }
}

/**
 * Claims jobs, does their work and keeps their leases. Any number of processes may do so on one store.
 *
 * @returns at once; the first jobs are claimed in the background
 */
export function runJobs(parts: JobRunnerParts): JobRunner {
  const { store, holder, now, elapsed, onTrouble, onSilent } = parts;
  const { leaseMs = LEASE_MS, pollMs = POLL_MS, retryMs = RETRY_MS } = parts;
  const owned = new Map<string, Ownership>();
  const running = new Set<Promise<void>>();
  let isClosed = false;
  const failing = new Set<() => Promise<void>>();

  const countOwned = (kind: string): number => [...owned.values()].filter((each) => each.kind === kind).length;

  async function claim(): Promise<void> {
    for (const { kind, work, maxOwned } of parts.kinds) {
      const limit = maxOwned() - countOwned(kind);
      if (limit <= 0) continue;
      const claimedAt = elapsed();
      const nowMs = now();
      const jobs = await store.claimJobs({ kinds: [kind], holder, nowMs, limit });
      for (const job of jobs) begin(job, work, claimedAt + leaseMs);
      if (jobs.length < limit) await takeOver(kind, work, limit - jobs.length);
    }
  }

  /** Beats of other processes, and since when they are the same: by the clock of this process, which does not jump. */
  const seenOf = new Map(
    parts.kinds.map(({ kind }) => [kind, new Map<string, JobBeat & { since: number; isReported?: boolean }>()]),
  );

  async function takeOver(kind: string, work: JobWork, limit: number): Promise<void> {
    const beats = await store.listBeats([kind], MAX_WATCHED);
    const others = beats.filter(({ id, fence }) => owned.get(id)?.lease.fence !== fence);
    const seen = seenOf.get(kind)!;
    const listed = new Set(others.map(({ id }) => id));
    for (const id of seen.keys()) if (!listed.has(id)) seen.delete(id);
    let left = limit;
    for (const beat of others) {
      const before = seen.get(beat.id);
      if (before?.fence !== beat.fence || before.beats !== beat.beats) {
        seen.set(beat.id, { ...beat, since: elapsed() });
        continue;
      }
      const silentMs = elapsed() - before.since;
      if (silentMs >= leaseMs && !before.isReported) {
        before.isReported = true;
        await onSilent?.(beat.id);
      }
      if (left === 0 || silentMs < leaseMs * LEASES_TO_WAIT) continue;
      const claimedAt = elapsed();
      const job = await store.takeOverJob(beat, holder);
      if (!job) continue;
      left--;
      begin(job, work, claimedAt + leaseMs);
    }
  }

  function begin(job: ClaimedJob, work: JobWork, validUntil: number): void {
    owned.get(job.id)?.abort(new JobLostError()); // this process has lost it, and claimed it again
    const own = new Ownership(job, store, validUntil);
    owned.set(job.id, own);
    if (isClosed) own.abort(new JobsClosedError());
    const done = perform(own, work).finally(() => {
      if (owned.get(job.id) === own) owned.delete(job.id);
      running.delete(done);
      if (!isClosed) lookSoon();
    });
    running.add(done);
  }

  async function perform(own: Ownership, work: JobWork): Promise<void> {
    const { lease } = own;
    try {
      const outcome = await work(own);
      if (outcome.retryInMs === undefined) await store.finishJob(lease, outcome.wakes);
      else {
        const { failures, wakes } = own;
        await store.releaseJob(lease, { dueAtMs: now() + outcome.retryInMs, failures, wakes });
      }
    } catch (error) {
      if (own.signal.reason instanceof JobLostError || error instanceof JobLostError) return;
      const isShutdown = own.signal.reason instanceof JobsClosedError;
      if (!isShutdown) onTrouble(error, own);
      const failures = isShutdown ? own.failures : own.failures + 1;
      const delay = isShutdown ? 0 : Math.min(retryMs * 2 ** Math.min(own.failures, 20), MAX_RETRY_MS);
      await store
        .releaseJob(lease, { dueAtMs: now() + delay, failures, wakes: own.wakes })
        .catch((thrown: unknown) => isClosed || onTrouble(thrown, own)); // the lease expires
    }
  }

  /** Aborts the work of expired leases. A paused process does so before it does anything else. */
  function abortExpired(): void {
    for (const own of owned.values()) if (elapsed() >= own.validUntil) own.abort(new JobLostError());
  }

  async function renew(): Promise<void> {
    abortExpired();
    const held = [...owned.values()].filter(({ signal }) => !signal.aborted);
    if (held.length === 0) return;
    const renewedAt = elapsed();
    const valid = await store.renewJobs(held.map(({ lease }) => lease));
    const wakesOf = new Map(valid.map(({ id, fence, wakes }) => [`${id} ${fence}`, wakes]));
    for (const own of held) {
      const wakes = wakesOf.get(`${own.id} ${own.lease.fence}`);
      if (wakes === undefined) own.abort(new JobLostError());
      else own.renew(renewedAt + leaseMs, wakes);
    }
  }

  let pollTimer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isWanted = false;
  function lookSoon(): void {
    isWanted = true;
    looking ??= look().finally(() => {
      looking = undefined;
      if (isWanted && !isClosed) lookSoon();
    });
  }
  async function look(): Promise<void> {
    isWanted = false;
    await attempt(claim);
    clearTimeout(pollTimer);
    if (!isClosed) pollTimer = setTimeout(lookSoon, pollMs).unref();
  }
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      failing.delete(work);
    } catch (error) {
      if (failing.size === 0 && !isClosed) onTrouble(error, undefined); // once for each outage
      failing.add(work);
    }
  }

  let renewing: Promise<void> | undefined;
  const renewOnce = (): Promise<void> =>
    (renewing ??= attempt(renew).finally(() => {
      renewing = undefined;
    }));
  const renewTimer = setInterval(() => {
    abortExpired(); // also if the store does not respond
    void renewOnce();
  }, leaseMs / 5).unref();

  lookSoon();

  return {
    get owned() {
      return owned.size;
    },
    notify(jobId) {
      if (isClosed) return;
      const own = jobId === undefined ? undefined : owned.get(jobId);
      if (own) own.wake();
      else lookSoon();
    },
    async close() {
      isClosed = true;
      clearTimeout(pollTimer);
      for (const own of owned.values()) own.abort(new JobsClosedError());
      await looking;
      while (running.size > 0) await Promise.all(running); // their leases are renewed meanwhile
      clearInterval(renewTimer);
      await renewing;
    },
  };
}

class Ownership implements OwnedJob {
  readonly id: string;
  readonly kind: string;
  readonly payload: string;
  failures: number;
  readonly lease: JobLease;
  checkpoint: string | null;
  wakes: number;
  validUntil: number;
  private readonly store: JobStore;
  private readonly ending = new AbortController();
  private isNudged = false;
  private resume: (() => void) | undefined;

  constructor(job: ClaimedJob, store: JobStore, validUntil: number) {
    this.id = job.id;
    this.kind = job.kind;
    this.payload = job.payload;
    this.failures = job.failures;
    this.checkpoint = job.checkpoint;
    this.wakes = job.wakes;
    this.lease = { id: job.id, fence: job.fence };
    this.store = store;
    this.validUntil = validUntil;
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  abort(reason: Error): void {
    if (!this.signal.aborted) this.ending.abort(reason);
    this.wake();
  }

  renew(validUntil: number, wakes: number): void {
    this.validUntil = validUntil;
    if (wakes === this.wakes) return;
    this.wakes = wakes;
    this.wake();
  }

  wake(): void {
    this.isNudged = true;
    this.resume?.();
  }

  async waitForWake(maxMs: number): Promise<void> {
    if (!this.isNudged && !this.signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, maxMs).unref();
      this.resume = resolve;
      await promise;
      clearTimeout(timer);
      this.resume = undefined;
    }
    this.isNudged = false;
  }

  async saveCheckpoint(checkpoint: string): Promise<void> {
    if (!(await this.store.checkpointJob(this.lease, checkpoint))) throw new JobLostError();
    this.checkpoint = checkpoint;
    this.failures = 0;
  }
}
