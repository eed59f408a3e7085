import { type Intern, isBelowDomain } from '../../domain/intern.ts';
import { JobsClosedError } from '../../platform/jobs/run-jobs.ts';
import { bootIntern, nameHost } from './boot.ts';
import { describeInternFailure, writeTransition } from './write-intern-state.ts';
import type { InternWork } from './lifecycle-parts.ts';
import { limitTime } from './race-abort.ts';

/** Times that a process may end during one provisioning before it fails: the intern itself may end the process. */
const MAX_TAKEOVERS = 3;

/** A caller or another process changed the intern. */
class CancelledError extends Error {
  constructor() {
    super('The provisioning was cancelled.');
    this.name = 'CancelledError';
  }
}

/**
 * Provisions an intern: `queued` → `provisioning` → `running` or `failed`. An interrupted one starts over with the first
 * step, because only the memory of the process had the credentials.
 *
 * @returns whether the intern runs
 * @throws {JobLostError} if another process owns the intern; {JobsClosedError} on shutdown
 */
export async function provisionIntern(work: InternWork): Promise<boolean> {
  const { parts, job, internId } = work;
  const { domain, provisionMs, stopMs } = parts.settings();
  const startedMs = parts.now();
  const takeovers = readTakeovers(job.checkpoint);
  const taken = await writeTransition(work, 'take', { step: 1, lastFailureMessage: null, failureReason: null });
  if (!taken) return false;
  const { hostname: before } = taken;
  const keepsName = before !== null && isBelowDomain(before, domain); // choice 762
  const intern: Intern = { ...taken, hostname: keepsName ? before : nameHost(taken, domain) };
  const cancelling = new AbortController();
  const stopWatching = watchStatus(work, cancelling);
  const signal = AbortSignal.any([job.signal, cancelling.signal]);
  try {
    if (takeovers >= MAX_TAKEOVERS) {
      throw new Error(`The gateway ended ${takeovers} times while it provisioned the intern; see its log.`);
    }
    await job.saveCheckpoint(JSON.stringify({ takeovers: takeovers + 1 }));
    const onStep = async (step: number): Promise<void> => {
      const written = await writeTransition(work, 'step', { step, ...(step > 1 && { hasVault: true }) });
      if (!written) throw new CancelledError();
    };
    const runtimeAddress = await limitTime({ what: 'The provisioning', ms: provisionMs, signal }, (limited) =>
      bootIntern(work, intern, { signal: limited, onStep }),
    );
    const { hostname } = intern;
    if (!(await writeTransition(work, 'start', { step: null, hostname, runtimeAddress }))) throw new CancelledError();
    await job.saveCheckpoint(JSON.stringify({ takeovers: 0 }));
    parts.numbers.provisioned('running', parts.now() - startedMs);
    return true;
  } catch (error) {
    await abandonQuietly(work, stopMs);
    if (job.signal.reason instanceof JobsClosedError) {
      await job.saveCheckpoint(JSON.stringify({ takeovers })).catch(() => {}); // a shutdown is not the intern's fault
    }
    job.signal.throwIfAborted();
    const isCancelled = error instanceof CancelledError || cancelling.signal.aborted;
    parts.numbers.provisioned(isCancelled ? 'cancelled' : 'failed', parts.now() - startedMs);
    if (isCancelled) return false;
    parts.log('intern provisioning failed', { intern: internId, err: error });
    await failIntern(work, 'fail', describeInternFailure(error));
    return false;
  } finally {
    await stopWatching();
  }
}

/** Ends an attempt, or a lost runtime, with its keys. */
export async function failIntern(work: InternWork, trigger: 'fail' | 'lose', message: string): Promise<void> {
  const fields = { step: null, runtimeAddress: null, isStopRequested: false, lastFailureMessage: message };
  await work.parts.credentials.revoke(work.internId, work.job.lease);
  await writeTransition(work, trigger, fields);
}

/** Ends the processes of an intern without saving. Their failure to end is logged: the next start replaces them. */
export async function abandonQuietly({ parts, internId }: InternWork, stopMs: number): Promise<void> {
  await limitTime({ what: 'The end of the runtime', ms: stopMs }, () => parts.runtime.abandon(internId)).catch(
    (error: unknown) => parts.log('intern stop failed', { intern: internId, err: error }),
  );
}

/** Aborts when a caller deletes the intern. @returns a function that ends the watch */
function watchStatus({ parts, job, internId }: InternWork, cancelling: AbortController): () => Promise<void> {
  let isDone = false;
  const watch = async (): Promise<void> => {
    for (;;) {
      await job.waitForWake(parts.settings().healthMs);
      if (isDone || job.signal.aborted) return;
      const intern = await parts.interns.findIntern(internId).catch(() => undefined); // read again later
      if (isDone || (intern && intern.status !== 'provisioning')) return isDone ? undefined : cancelling.abort();
    }
  };
  const watching = watch();
  return async () => {
    isDone = true;
    job.wake();
    await watching;
  };
}

function readTakeovers(checkpoint: string | null): number {
  const saved = checkpoint === null ? undefined : (JSON.parse(checkpoint) as { takeovers?: number });
  return saved?.takeovers ?? 0;
}
