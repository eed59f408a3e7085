import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Actor, ManagementParts } from '../management/parts.ts';
import type { AccessStore } from '../platform/storage/ports/access.ts';
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

/** @param isReading whether no content filter is checked */
export async function createParts(
  { management, access, ledger }: Storage,
  config: Config,
  { isReading } = { isReading: false },
): Promise<OperatorParts> {
  return {
    management,
    access,
    ledger,
    contentFilters: isReading ? noFilters : await openContentFilters(config),
    now: currentTimeMs,
    onChange: async () => {}, // a running gateway polls the store
    async loadModules() {
      const { loadPluginModules } = await import('../compose/load-plugin-modules.ts');
      return (await loadPluginModules(config.plugins.modules, () => {})).settings; // no plugin runs
    },
  };
}

async function openContentFilters(config: Config): Promise<OperatorParts['contentFilters']> {
  const { createContentGuardrails } = await import('../compose/create-content-guardrails.ts');
  return createContentGuardrails(
    () => config,
    () => {},
  );
}

const refuse = (): never => {
  throw new Error('A command that reads checks no content filter.');
};
const noFilters: OperatorParts['contentFilters'] = { sets: refuse, entities: refuse };

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
      return await use(await createParts(storage, where.config));
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      throw error;
    }
  });
}
