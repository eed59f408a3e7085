import { createHmac } from 'node:crypto';
import { flatten } from '../domain/flatten.ts';

/** Maximum number of end users whose hash is cached. */
const MAX_REMEMBERED = 10_000;

/**
 * Creates the function that hashes the ids of end users with a key, so that neither providers nor the store get the id.
 * The same id in two workspaces has two hashes. The empty id stands for the workspace itself.
 *
 * @returns a function of workspace and id → `hg_` and 40 hex digits
 */
export function createEndUserHash(masterKey: Buffer): (workspaceId: string, id: string) => string {
  const remembered = new Map<string, string>();

  return (workspaceId, id) => {
    const name = `${workspaceId}\0${id}`;
    let hash = remembered.get(name);
    if (hash === undefined) {
      const digest = createHmac('sha256', masterKey).update(`end-user\0${name}`).digest('hex');
      hash = flatten('hg_', digest.slice(0, 40));
      if (remembered.size === MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
      remembered.set(name, hash);
    }
    return hash;
  };
}
