import { callStore } from '../../platform/storage/call-store.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import type { ManagementHandler, ManagementApiParts } from '../management/route.ts';
import { writeTime } from '../../management/write-time.ts';

/** `GET /audit`: the changes by the management API and the command line, the newest first. */
export function createAuditHandler({ management }: Pick<ManagementApiParts, 'management'>): ManagementHandler {
  return async function listAudit(request) {
    const page = readQuery(request, readPage);
    const { rows, total } = await callStore(() => management.listAudit(page));
    return {
      data: rows.map((entry) => ({
        id: entry.id,
        at: writeTime(entry.atMs),
        actor_key_hash: entry.actorKeyHash,
        action: entry.action,
        object_kind: entry.objectKind,
        object_id: entry.objectId,
        workspace_id: entry.workspaceId,
        changes: entry.changes,
      })),
      total_count: total,
    };
  };
}
