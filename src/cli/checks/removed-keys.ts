import { findRemovedKeys, nameKeys } from '../../access/bootstrap.ts';
import type { Config } from '../../config/schema.ts';
import { withReadOnlyStore } from '../open-store.ts';
import type { Finding } from './finding.ts';

/** Checks for keys that were removed from the file and are not disabled yet. Returns nothing if there are none. */
export async function checkRemovedKeys(config: Pick<Config, 'storage' | 'bootstrap'>): Promise<Finding[]> {
  try {
    const removed = await withReadOnlyStore(config, ({ access }) => findRemovedKeys(access, config.bootstrap));
    const valid = (removed ?? []).filter(({ disabled }) => !disabled);
    if (valid.length === 0) return [];
    const says = `no longer in bootstrap.keys, so the next start or reload disables ${valid.length === 1 ? 'it' : 'them'}: ${nameKeys(valid)}`;
    return [{ status: 'warn', subject: 'keys', says }];
  } catch {
    return []; // the store check reports the reason
  }
}
