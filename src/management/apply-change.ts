import type { Actor, Edit, ManagementParts } from './parts.ts';

/**
 * Makes a change in one transaction, together with the audit entries that `work` records.
 *
 * @throws what `work` throws, with nothing changed
 */
export async function applyChange<Result>(
  { management, now, onChange }: ManagementParts,
  { keyHash }: Actor,
  work: (edit: Edit) => Promise<Result>,
): Promise<Result> {
  const nowMs = now();
  const result = await management.change({ atMs: nowMs, actorKeyHash: keyHash }, (transaction) =>
    work({ transaction, nowMs }),
  );
  // The change is stored. If it cannot be read back now, the next poll of the keys applies it.
  await onChange().catch(() => {});
  return result;
}
