import type { Intern } from '../../domain/intern.ts';
import { bootIntern } from './boot.ts';
import type { InternWork } from './lifecycle-parts.ts';
import { abandonQuietly, failIntern } from './provision.ts';
import { limitTime } from './race-abort.ts';
import { describeInternFailure, writeTransition, writeRunningFields } from './write-intern-state.ts';

const STORE_RETRY_MS = 1000;

/**
 * Watches a running intern until it no longer runs. Restarts its runtime after a failure, and after another process
 * that ran it has ended.
 *
 * @param isStarted whether this process has started the runtime
 * @throws {JobLostError} if another process owns the intern; {JobsClosedError} on shutdown
 */
export async function superviseIntern(work: InternWork, isStarted: boolean): Promise<void> {
  const { parts, job, internId } = work;
  let [runs, restarts, problem] = [isStarted, 0, 'The process that ran the intern has ended.'];
  for (;;) {
    let intern: Intern | undefined;
    try {
      intern = await parts.interns.findIntern(internId);
    } catch (error) {
      // The runtime continues while the store is away, until the lease expires.
      if (!runs) throw error;
      await job.waitForWake(STORE_RETRY_MS);
      job.signal.throwIfAborted();
      continue;
    }
    job.signal.throwIfAborted();
    if (intern?.status !== 'running') return;
    if (intern.isStopRequested) {
      if (await suspendIntern(work)) return;
      continue;
    }
    const { maxRestarts, restartMs, healthMs, stopMs } = parts.settings();
    if (!runs) {
      if (restarts > maxRestarts) {
        parts.numbers.lost();
        await abandonQuietly(work, stopMs);
        await failIntern(work, 'lose', problem);
        return;
      }
      if (restarts > 0) await job.waitForWake(Math.min(restartMs * 2 ** (restarts - 1), 60_000));
      restarts++;
      const failure = await restartRuntime(work, intern);
      if (failure !== undefined) problem = failure;
      runs = failure === undefined;
      continue;
    }
    await job.waitForWake(healthMs);
    job.signal.throwIfAborted();
    const found = await checkHealth(work, intern);
    job.signal.throwIfAborted();
    if (found === undefined) {
      restarts = 0;
      continue;
    }
    [runs, problem] = [false, found];
    parts.log('intern unhealthy', { intern: internId, detail: found });
  }
}

/** @returns why the runtime does not work */
async function checkHealth({ parts, job }: InternWork, intern: Intern): Promise<string | undefined> {
  const { checkMs } = parts.settings();
  try {
    return await limitTime({ what: 'The health check', ms: checkMs, signal: job.signal }, (signal) =>
      parts.runtime.checkHealth(intern, signal),
    );
  } catch (error) {
    return describeInternFailure(error);
  }
}

/**
 * Starts the runtime again, with new credentials, and with the model and the instructions that it was provisioned with. choice 781
 *
 * @returns why it did not start
 */
async function restartRuntime(work: InternWork, intern: Intern): Promise<string | undefined> {
  const { parts, job, internId } = work;
  const { provisionMs, stopMs } = parts.settings();
  job.signal.throwIfAborted();
  // First: nothing sends requests to the runtime of a process that has ended.
  if (!(await writeRunningFields(work, { runtimeAddress: null }))) return 'The intern was changed.';
  try {
    const provisioned = { ...intern, ...(await parts.interns.findProvisioned(internId)) };
    const runtimeAddress = await limitTime({ what: 'The restart', ms: provisionMs, signal: job.signal }, (signal) =>
      bootIntern(work, provisioned, { signal, onStep: async () => {} }),
    );
    if (!(await writeRunningFields(work, { runtimeAddress }))) throw new Error('The intern was changed.');
    parts.numbers.restarted();
    parts.log('intern restarted', { intern: internId });
    return undefined;
  } catch (error) {
    await abandonQuietly(work, stopMs);
    job.signal.throwIfAborted();
    parts.log('intern restart failed', { intern: internId, err: error });
    return describeInternFailure(error);
  }
}

/** Stops the runtime for `suspend`. @returns whether it has stopped */
async function suspendIntern(work: InternWork): Promise<boolean> {
  const { parts, job, internId } = work;
  const { stopMs } = parts.settings();
  try {
    await limitTime({ what: 'The end of the runtime', ms: stopMs }, () => parts.runtime.stop(internId));
  } catch (error) {
    parts.log('intern stop failed', { intern: internId, err: error });
    await writeRunningFields(work, { isStopRequested: false }); // the caller gets an error, and can try again
    return false;
  }
  await parts.credentials.revoke(internId, job.lease);
  await writeTransition(work, 'suspend', { isStopRequested: false, runtimeAddress: null });
  return true;
}
