import { currentTimeMs } from '../domain/clock.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import { CommandError } from './terminal.ts';

/** Finds a key by hash, label or name. @throws {CommandError} if no key matches, or several do */
export function resolveKey(keys: readonly KeyRecord[], wanted: string): KeyRecord {
  const byHash = keys.filter(({ hash }) => /^[0-9a-f]{4,64}$/.test(wanted) && hash.startsWith(wanted));
  const named = keys.filter(({ name, label }) => name === wanted || label === wanted);
  // A rotated key and its replacement have the same name: prefer the one that is valid.
  const alive = byHash.length > 0 ? [] : named.filter((key) => readKeyState(key, currentTimeMs()) === 'active');
  const found = alive.length === 1 ? alive : [...new Set([...byHash, ...named])];
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new CommandError(`No key has the hash, prefix or name "${wanted}"; see "headgate keys list".`);
  const which = found.map(({ hash, name }) => `${hash.slice(0, 12)} (${name})`).join(', ');
  throw new CommandError(`"${wanted}" matches several keys; give the hash: ${which}.`);
}

export const readKeyState = (key: KeyRecord, nowMs: number): string =>
  key.disabled ? 'disabled' : key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'expired' : 'active';
