import { findOrphanedKeys } from '../../access/bootstrap.ts';
import type { Config } from '../../config/schema.ts';
import { withReadOnlyStore } from '../open-store.ts';
import type { Finding } from './finding.ts';

/** Checks for keys that were removed from the file and are still valid. Returns nothing if there are none. */
export async function checkOrphanedKeys(config: Pick<Config, 'storage' | 'bootstrap'>): Promise<Finding[]> {
  try {
    const says = await withReadOnlyStore(config, ({ access }) => findOrphanedKeys(access, config.bootstrap));
    return says === undefined ? [] : [{ status: 'warn', subject: 'keys', says }];
  } catch {
    return []; // the store check reports the reason
  }
}
