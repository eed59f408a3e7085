/** Durable work. One process at a time owns a job. Another one takes it over if the process ends or pauses. */
export interface JobRecord {
  /** Chosen by the creator: the same work has the same id. */
  id: string;
  /** Chooses the code that does the work. */
  kind: string;
  /** The task, as JSON. */
  payload: string;
  /** The progress, as JSON. Null: none. */
  checkpoint: string | null;
  /** Consecutive failures. */
  failures: number;
  /** Grows each time the work is requested. */
  wakes: number;
}

/** The right to do the work and to write its results. A later claim has a higher `fence`, and ends all earlier ones. */
export interface JobLease {
  id: string;
  fence: number;
}

export type ClaimedJob = JobRecord & JobLease;

/** A sign of life of the owner of a job: the same as before means that it has not renewed its lease. */
export interface JobBeat extends JobLease {
  /** Grows with each renewal. */
  beats: number;
}

export interface NewJob {
  id: string;
  kind: string;
  payload: string;
  dueAtMs: number;
}

export interface JobClaim {
  kinds: readonly string[];
  /** The process, for operators. */
  holder: string;
  nowMs: number;
  limit: number;
}

/**
 * Durable jobs. A write with a lease does nothing if another process has claimed the job since then. Leases have no time in
 * the store: clocks of hosts differ and jump. A process takes a job over after it has seen the same beat for long enough.
 */
export interface JobStore {
  /**
   * Creates a job. If it exists, the work is requested again: it becomes due, or its owner sees another value of `wakes`.
   * The payload stays.
   */
  wakeJob(job: NewJob): Promise<void>;
  /** Claims jobs that are due and have no owner, the longest due first. No two calls claim the same one. */
  claimJobs(claim: JobClaim): Promise<ClaimedJob[]>;
  /** @returns those that are still claimed, with the current value of `wakes` */
  renewJobs(leases: readonly JobLease[]): Promise<(JobLease & Pick<JobRecord, 'wakes'>)[]>;
  /** Lists the owned jobs of these kinds, by id. */
  listBeats(kinds: readonly string[], limit: number): Promise<JobBeat[]>;
  /** Claims a job that another process owns. @returns undefined if it has given a sign of life since the beat */
  takeOverJob(beat: JobBeat, holder: string): Promise<ClaimedJob | undefined>;
  /** Reads the progress of jobs, in the order of their ids here. Null: there is no such job, or it has no progress. */
  readCheckpoints(ids: readonly string[]): Promise<(string | null)[]>;
  /** Stores what has been done, and forgets failures. @returns whether the lease is valid */
  checkpointJob(lease: JobLease, checkpoint: string): Promise<boolean>;
  /**
   * Deletes a job whose work is done.
   *
   * @param wakes the last one that the owner has seen. If the work was requested since then, the job is due again instead
   */
  finishJob(lease: JobLease, wakes: number): Promise<'finished' | 'woken' | 'lost'>;
  /** Gives a job back. It is due then, or at once if it was requested since `wakes`. @returns whether the lease is valid */
  releaseJob(lease: JobLease, next: { dueAtMs: number; failures: number; wakes: number }): Promise<boolean>;
  /** Ends all leases, if no other process can have one. */
  releaseAllJobs(): Promise<void>;
}
