import type { LoadedConfig } from '../config/load.ts';
import type { WorkspaceRecord } from '../platform/storage/ports/workspaces.ts';

export type NamedWorkspace = Pick<WorkspaceRecord, 'id' | 'name'>;

/**
 * Returns the id of a workspace in a routing context without a store: its name in the file, or else its name in the store. Returns an
 * unknown id unchanged.
 */
export function resolveWorkspaceId(
  { config }: Pick<LoadedConfig, 'config'>,
  named: string,
  stored: readonly NamedWorkspace[] = [],
): string {
  const isNamed = ({ id, name }: { id?: string; name: string }) => id === named || name === named;
  const inFile = config.bootstrap.workspaces.find(isNamed);
  if (inFile) return inFile.name;
  const found = stored.find(isNamed);
  // A stored workspace may have another name in the file.
  return (
    config.bootstrap.workspaces.find(({ id }) => id !== undefined && id === found?.id)?.name ?? found?.name ?? named
  );
}
