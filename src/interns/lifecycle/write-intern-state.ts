import { type Intern, type InternTrigger, internTransitions, listStatusesBefore } from '../../domain/intern.ts';
import type { InternFields } from '../../platform/storage/ports/interns.ts';
import type { InternWork } from './lifecycle-parts.ts';

/**
 * Makes a transition of the table, if the intern still has one of its statuses and this process still owns it. Provisioning
 * begins with `take`: from then on, the runtime has the current model and instructions.
 *
 * @returns undefined: a caller or another process was faster
 */
export async function writeTransition(
  { parts, job, internId }: InternWork,
  trigger: InternTrigger,
  fields: InternFields,
): Promise<Intern | undefined> {
  const from = listStatusesBefore(trigger);
  const [status, ...others] = new Set(from.map((each) => internTransitions[each][trigger]!));
  if (status === undefined || status === 'gone' || others.length > 0)
    throw new Error(`${trigger} does not have exactly one target.`);
  const written = await parts.interns.updateIntern({
    id: internId,
    from,
    fields: { ...fields, status, updatedAtMs: parts.now() },
    provisions: trigger === 'take',
    lease: job.lease,
  });
  return written === 'name' ? undefined : written; // the name does not change
}

/** Writes fields of a running intern, if this process still owns it. */
export async function writeRunningFields(
  { parts, job, internId }: InternWork,
  fields: InternFields,
): Promise<Intern | undefined> {
  const written = await parts.interns.updateIntern({
    id: internId,
    from: ['running'],
    lease: job.lease,
    fields: { ...fields, updatedAtMs: parts.now() },
  });
  return written === 'name' ? undefined : written;
}

/** Maximum length of `lastFailureMessage`. */
const MAX_MESSAGE = 1000;

/** The message of a failure, for the owner of the intern. It begins with the cause if that has a name. */
export function describeInternFailure(error: unknown, cause?: string): string {
  const text = (error instanceof Error ? error.message : String(error)).trim();
  const message = text || 'The cause is unknown; the log of the gateway has more.';
  return (cause === undefined ? message : `${cause}: ${message}`).slice(0, MAX_MESSAGE).toWellFormed();
}
