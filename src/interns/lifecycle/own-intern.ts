import { JobLostError, type JobOutcome, type OwnedJob } from '../../platform/jobs/run-jobs.ts';
import type { InternWork, LifecycleParts } from './lifecycle-parts.ts';
import { abandonQuietly, provisionIntern } from './provision.ts';
import { superviseIntern } from './supervise.ts';
import { tearDownIntern } from './tear-down.ts';
import { writeRunningFields } from './write-intern-state.ts';

/** Delay before an intern that found no place is offered to all processes again. */
const PLACE_MS = 2000;

/**
 * Does all work on one intern, until it needs none. This process owns the intern meanwhile: no other process provisions,
 * runs or removes it.
 */
export async function ownIntern(parts: LifecycleParts, job: OwnedJob): Promise<JobOutcome> {
  const { intern_id: internId } = JSON.parse(job.payload) as { intern_id: string };
  const work: InternWork = { parts, job, internId };
  const { active } = parts.numbers;
  try {
    for (let isStarted = false; ; ) {
      const { wakes } = job; // before the intern, so that no request is missed
      const intern = await parts.interns.findIntern(internId);
      job.signal.throwIfAborted();
      switch (intern?.status) {
        case 'queued':
        case 'provisioning':
        case 'running':
          if (!active.has(internId) && active.size >= parts.settings().maxRunning) return { retryInMs: PLACE_MS };
          active.add(internId);
          if (intern.status === 'running') {
            await superviseIntern(work, isStarted);
            isStarted = false;
          } else isStarted = await provisionIntern(work);
          break;
        case 'destroying':
          await tearDownIntern(work, intern);
          break;
        default:
          return { wakes };
      }
      await job.saveCheckpoint(job.checkpoint ?? '{}'); // throws if another process owns the intern by now
    }
  } catch (error) {
    await leaveRuntime(work);
    throw error;
  } finally {
    active.delete(internId);
  }
}

/** Ends the runtime, because another process starts it next. Its home is saved only by the process that owns it. */
async function leaveRuntime(work: InternWork): Promise<void> {
  const { parts, job, internId } = work;
  if (!parts.numbers.active.has(internId)) return;
  const { stopMs } = parts.settings();
  // Until another process runs it. If the lease is lost, nothing is written.
  await writeRunningFields(work, { runtimeAddress: null }).catch(() => {});
  if (!(job.signal.reason instanceof JobLostError)) {
    try {
      await parts.runtime.stop(internId);
      return;
    } catch (error) {
      parts.log('intern stop failed', { intern: internId, err: error });
    }
  }
  await abandonQuietly(work, stopMs);
}
