import type { Caller } from '../domain/caller.ts';

/** A rejected key, as the operator knows it. */
export interface RefusedKey {
  /** SHA-256 of the whole key. */
  hash: string;
  /** Undefined if no key has this hash, and none had since the start. */
  name: string | undefined;
  why: 'disabled' | 'expired' | 'deleted' | 'unknown';
  /** The number of rejections since the last report: of this key, or of all unknown keys. */
  times: number;
  /** The address of the connection of the last rejection: that of a proxy, if there is one. */
  address: string | undefined;
}

/** Each key is reported once in this time, since a client may retry forever. */
const QUIET_MS = 60_000;
/** Maximum number of deleted keys whose names are kept. */
const MAX_DELETED = 1000;

/**
 * Reports rejected keys at a rate that people can read: each known key once a minute, and all unknown keys together
 * once a minute, since there may be more of them than memory.
 */
export class RefusedKeys {
  private readonly report: (refused: RefusedKey) => void;
  private readonly deleted = new Map<string, string>();
  /** By hash; '' has all unknown keys. */
  private readonly told = new Map<string, { atMs: number; quiet: number }>();

  constructor(tell: (refused: RefusedKey) => void) {
    this.report = tell;
  }

  /**
   * Keeps the names of deleted keys.
   *
   * @param after hashes of the keys that exist
   */
  remember(
    before: Iterable<{ caller: Pick<Caller, 'keyHash' | 'keyName'> }>,
    after: { has(hash: string): boolean },
  ): void {
    for (const hash of this.deleted.keys()) if (after.has(hash)) this.deleted.delete(hash);
    for (const { caller } of before) if (!after.has(caller.keyHash)) this.deleted.set(caller.keyHash, caller.keyName);
    for (const hash of this.deleted.keys()) {
      if (this.deleted.size <= MAX_DELETED) break;
      this.deleted.delete(hash); // the first that was deleted
      this.told.delete(hash);
    }
  }

  /**
   * @param known the key, if it exists
   * @param connection of the request
   */
  refuse(hash: string, known?: { name: string; disabled: boolean }, connection?: { remoteAddress?: string }): void {
    const name = known?.name ?? this.deleted.get(hash);
    const why = known ? (known.disabled ? 'disabled' : 'expired') : name === undefined ? 'unknown' : 'deleted';
    const whose = why === 'unknown' ? '' : hash;
    const now = performance.now();
    const last = this.told.get(whose);
    if (last && now - last.atMs < QUIET_MS) {
      last.quiet++;
      return;
    }
    this.told.set(whose, { atMs: now, quiet: 0 });
    this.report({ hash, name, why, times: 1 + (last?.quiet ?? 0), address: connection?.remoteAddress });
  }
}
