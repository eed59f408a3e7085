import { createHmac } from 'node:crypto';
import { flatten } from '../domain/flatten.ts';

/** End users whose hash is remembered: they come back. */
const MAX_REMEMBERED = 10_000;

/**
 * Folds an end user's id into a keyed hash, so that no provider and no row ever sees the id itself. The same id in two
 * workspaces gives two hashes.
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
