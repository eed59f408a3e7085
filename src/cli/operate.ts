import { DEFAULT_WORKSPACE } from '../access/bootstrap.ts';
import { createContentGuardrails } from '../compose/create-content-guardrails.ts';
import { loadPluginModules } from '../compose/load-plugin-modules.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Actor, ManagementParts } from '../management/parts.ts';
import type { AccessStore } from '../platform/storage/ports/access.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../platform/storage/ports/workspaces.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { withStore } from './open-store.ts';
import { readIssues } from './read-issues.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** The user of the command line. It has no key. */
export const operator: Actor = { keyHash: null };

/** The parts that the use cases of the management API need, on the configured store. */
export interface OperatorParts extends ManagementParts {
  access: AccessStore;
}

export const createParts = ({ management, access, ledger }: Storage, config: Config): OperatorParts => ({
  management,
  access,
  ledger,
  contentFilters: createContentGuardrails(
    () => config,
    () => {},
  ),
  now: currentTimeMs,
  onChange: async () => {}, // a running gateway polls the store
  loadModules: async () => (await loadPluginModules(config.plugins.modules, () => {})).settings, // no plugin runs
});

/**
 * Opens the configured store for a change by the operator. A running gateway follows within a second.
 *
 * @throws {CommandError} if a rule of the management API is broken
 */
export function operate<Result>(
  where: { config: Config; stderr: Terminal['stderr'] },
  use: (parts: OperatorParts) => Promise<Result>,
): Promise<Result> {
  return withStore(where, async (storage) => {
    try {
      return await use(createParts(storage, where.config));
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      throw error;
    }
  });
}

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
