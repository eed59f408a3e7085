import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Change, ManagementStore, ManagementTransaction } from '../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../platform/storage/ports/workspaces.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { withStore } from './open-store.ts';
import { readIssues } from './read-issues.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** Nobody's key: whoever may run the command line. */
export const byOperator = (): Change => ({ atMs: currentTimeMs(), actorKeyHash: null });

/** Makes one change of the store, in one transaction. */
export type ApplyChange = <Result>(
  work: (transaction: ManagementTransaction, nowMs: number) => Promise<Result>,
) => Promise<Result>;

/**
 * Opens the configured store for changes in the operator's name; a running gateway follows them within a second.
 *
 * @param use looks before it changes: a change asks its transaction alone
 * @throws {CommandError} when a rule is broken that the management API has, too
 */
export function operate<Result>(
  parts: { config: Config; stderr: Terminal['stderr'] },
  use: (storage: Storage, change: ApplyChange) => Promise<Result>,
): Promise<Result> {
  return withStore(parts, async (storage) => {
    const change: ApplyChange = (work) => {
      const by = byOperator();
      return storage.management.change(by, (transaction) => work(transaction, by.atMs));
    };
    try {
      return await use(storage, change);
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      throw error;
    }
  });
}

/** A workspace by its id, slug or name. @throws {CommandError} */
export async function resolveWorkspace(
  from: Pick<ManagementTransaction, 'findWorkspace' | 'findWorkspaceByName'>,
  wanted: string,
): Promise<WorkspaceDetails> {
  const found = (await from.findWorkspace(wanted)) ?? (await from.findWorkspaceByName(wanted));
  if (!found) throw new CommandError(`There is no workspace "${wanted}"; see "headgate workspaces list".`);
  return found;
}

/** A store seen as a change of it sees it. */
export const viewManagement = (management: ManagementStore): Parameters<typeof resolveWorkspace>[0] => ({
  findWorkspace: (id) => management.findWorkspace(id),
  findWorkspaceByName: async (name) => {
    const { rows } = await management.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
    return rows.find((row) => row.name === name);
  },
});
