import type { Intern } from '../../domain/intern.ts';
import { InternTeardownError } from '../ports.ts';
import type { InternWork } from './lifecycle-parts.ts';
import { abandonQuietly } from './provision.ts';
import { limitTime } from './race-abort.ts';
import { describeInternFailure, writeTransition } from './write-intern-state.ts';

/**
 * Removes an intern: its runtime and home folder, its keys, its vault, its row.
 *
 * @throws {JobLostError} if another process owns the intern; the store's error
 */
export async function tearDownIntern(work: InternWork, intern: Intern): Promise<void> {
  const { parts, job, internId } = work;
  const { acknowledgesLoss, vaultId } = intern;
  const ms = parts.settings().stopMs;
  await parts.credentials.revoke(internId, job.lease);
  try {
    await limitTime({ what: 'The removal of the home folder', ms }, () =>
      parts.runtime.destroy(internId, { acknowledgesLoss }),
    );
    await limitTime({ what: 'The removal of the vault', ms }, () => parts.vaults.destroy(vaultId));
  } catch (error) {
    await abandonQuietly(work, ms); // no process owns the intern afterwards, so nothing of it may run
    job.signal.throwIfAborted();
    parts.log('intern removal failed', { intern: internId, err: error });
    parts.numbers.removed('failed');
    const reason = error instanceof InternTeardownError ? error.reason : undefined;
    await writeTransition(work, 'fail_teardown', {
      lastFailureMessage: describeInternFailure(error, reason),
      failureReason: reason ?? null,
    });
    return;
  }
  if (await parts.interns.deleteIntern(internId, job.lease, { atMs: parts.now(), actorKeyHash: null })) {
    parts.numbers.removed('removed');
  }
}
