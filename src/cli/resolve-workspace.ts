import { DEFAULT_WORKSPACE } from '../access/bootstrap.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../platform/storage/ports/workspaces.ts';
import { CommandError } from './terminal.ts';

/** Returns a workspace by its id, slug or name; the default one if none is named. @throws {CommandError} */
export async function resolveWorkspace(
  management: ManagementStore,
  wanted: string | undefined,
): Promise<WorkspaceDetails> {
  const byId = wanted === undefined ? undefined : await management.findWorkspace(wanted);
  if (byId) return byId;
  const { rows } = await management.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
  const byName = rows.find(({ name }) => name === (wanted ?? DEFAULT_WORKSPACE));
  const found = byName ?? (wanted === undefined ? rows[0] : undefined); // the oldest
  if (found) return found;
  const problem = wanted === undefined ? 'There is no workspace yet' : `There is no workspace "${wanted}"`;
  throw new CommandError(`${problem}; see "headgate workspaces list".`);
}
