import type { Caller } from '../../domain/caller.ts';
import type { Intern } from '../../domain/intern.ts';
import { applyChange } from '../apply-change.ts';
import type { ManagementParts } from '../parts.ts';

/** Records in the audit log that a caller has read the token of an intern. */
export const recordDaemonAccess = (parts: ManagementParts, { keyHash }: Caller, intern: Intern): Promise<void> =>
  applyChange(parts, { keyHash }, ({ transaction }) =>
    transaction.record({
      action: 'intern.read_access',
      objectKind: 'intern',
      objectId: intern.id,
      workspaceId: intern.workspaceId,
      changes: {},
    }),
  );
