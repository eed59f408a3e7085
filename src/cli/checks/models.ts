import { buildModels } from '../../compose/build-models.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { WorkspaceRecord } from '../../platform/storage/ports/workspaces.ts';
import { withReadOnlyStore } from '../open-store.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

type Workspace = Pick<WorkspaceRecord, 'id' | 'name'>;

/** Checks the providers against the catalog, as at startup. Returns an empty list if they match. */
export async function checkModels({ config, dataDir }: LoadedConfig): Promise<Finding[]> {
  const findings: Finding[] = [];
  const tell = (status: Finding['status'], says: string) => findings.push({ status, subject: 'models', says });
  try {
    const workspaces = await listWorkspaces(config);
    buildModels(config, { dataDir, workspaces, warn: (says) => tell('warn', says) });
  } catch (error) {
    if (!(error instanceof StoreGone)) tell('fail', readMessage(error));
  }
  return findings;
}

/** The store is unreachable, so the workspaces are unknown. The store check reports the reason. */
class StoreGone extends Error {}

/**
 * Returns the workspaces that exist after a start. Reads the store only if a provider names a workspace that the
 * configuration does not create.
 *
 * @throws {StoreGone}
 */
async function listWorkspaces(config: Config): Promise<Workspace[]> {
  const made = config.bootstrap.workspaces.map(({ id, name }) => ({ id: id ?? name, name }));
  const isMade = (named: string) => made.some(({ id, name }) => id === named || name === named);
  if (config.providers.every(({ workspace }) => workspace === undefined || isMade(workspace))) return made;
  const stored = await readStored(config);
  // The name in the file has precedence.
  return [...made, ...stored.filter(({ id }) => !made.some((one) => one.id === id))];
}

async function readStored(config: Config): Promise<Workspace[]> {
  try {
    return (await withReadOnlyStore(config, ({ access }) => access.listWorkspaces())) ?? [];
  } catch (error) {
    throw new StoreGone('The store does not respond.', { cause: error });
  }
}
