import { buildModels } from '../../compose/build-models.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { WorkspaceRecord } from '../../platform/storage/ports/workspaces.ts';
import { withReadOnlyStore } from '../open-store.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

type Workspace = Pick<WorkspaceRecord, 'id' | 'name'>;

/** Can the providers and the catalog be put together, as a start does it? Says nothing where they can. */
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

/** Then nobody knows which workspaces there are, and the check of the store says why. */
class StoreGone extends Error {}

/**
 * The workspaces that there will be after a start. The store is asked only when a provider names one that the
 * configuration does not make.
 *
 * @throws {StoreGone}
 */
async function listWorkspaces(config: Config): Promise<Workspace[]> {
  const made = config.bootstrap.workspaces.map(({ id, name }) => ({ id: id ?? name, name }));
  const isMade = (named: string) => made.some(({ id, name }) => id === named || name === named);
  if (config.providers.every(({ workspace }) => workspace === undefined || isMade(workspace))) return made;
  const stored = await readStored(config);
  return [...made, ...stored.filter(({ id }) => !made.some((one) => one.id === id))]; // one of the file has its name from there
}

async function readStored(config: Config): Promise<Workspace[]> {
  try {
    return (await withReadOnlyStore(config, ({ access }) => access.listWorkspaces())) ?? [];
  } catch (error) {
    throw new StoreGone('The store does not answer.', { cause: error });
  }
}
