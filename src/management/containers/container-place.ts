import type { Caller } from '../../domain/caller.ts';
import { containerIdRule, containerIdShape } from '../../domain/container-id.ts';
import { invalidRequest } from '../../domain/errors.ts';
import type { ContainerRecord, ContainerStore } from '../../platform/storage/ports/containers.ts';

/**
 * Who uses a container: the member or the organization whose key created it, or every key of the workspace.
 *
 * @see docs/reference/containers.md#ownership
 */
export type ContainerOwner = 'member' | 'workspace';

/** The container that a caller means by an id. */
export interface ContainerPlace {
  readonly workspaceId: string;
  /** As callers see it. */
  readonly containerId: string;
  /** Id of the row of the container that the caller uses. */
  readonly storedId: string;
  /** Id of the row whose files the caller sees as long as its own container has none. */
  readonly earlierId?: string;
}

/** Ends the id of a container in the id of its row. Ids of containers do not contain it. */
const SEPARATOR = '@';

/**
 * Returns where the container of a caller is. The row of a container of the workspace has the id of the container: so had
 * all rows before containers had owners. The rows of others have the owner behind it.
 *
 * @throws {GatewayError} `invalid_request` for a malformed id
 */
export function placeContainer(
  caller: Pick<Caller, 'workspaceId' | 'memberId' | 'internId'>,
  containerId: string,
  owner: ContainerOwner,
): ContainerPlace {
  if (!containerIdShape.test(containerId)) {
    throw invalidRequest([{ path: 'container_id', message: `${containerIdRule}.` }]);
  }
  const { workspaceId } = caller;
  const own = prefixRows(containerId) + nameOwner(caller);
  if (caller.internId !== undefined) return { workspaceId, containerId, storedId: own }; // it reads nothing of others
  const [storedId, earlierId] = owner === 'workspace' ? [containerId, own] : [own, containerId];
  return { workspaceId, containerId, storedId, earlierId };
}

function nameOwner({ memberId, internId }: Pick<Caller, 'memberId' | 'internId'>): string {
  if (internId !== undefined) return `intern:${internId}`;
  return memberId === null ? 'organization' : `member:${memberId}`;
}

/** Returns the beginning of the ids of rows whose containers have an id and an owner. */
export const prefixRows = (containerId: string): string => containerId + SEPARATOR;

/** Returns the container whose files a caller sees: an earlier one as long as its own has never saved a file. */
export async function findContainerAt(
  store: Pick<ContainerStore, 'findContainer'>,
  { workspaceId, storedId, earlierId }: ContainerPlace,
): Promise<ContainerRecord | undefined> {
  const own = await store.findContainer(workspaceId, storedId);
  if (earlierId === undefined || (own && own.version > 0)) return own;
  return (await store.findContainer(workspaceId, earlierId)) ?? own;
}
