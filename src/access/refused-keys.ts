import type { Caller } from '../domain/caller.ts';

/** A key that was refused, as the operator knows it. */
export interface RefusedKey {
  /** SHA-256 of the whole key. */
  hash: string;
  /** Undefined when no key has this hash, and none had since the start. */
  name: string | undefined;
  why: 'disabled' | 'expired' | 'deleted' | 'unknown';
  /** Refusals that this stands for: of this key, or of all unknown ones, since the last time they were told. */
  times: number;
}

/** A client that does not notice asks on and on: each key is told once in this time. */
const QUIET_MS = 60_000;
/** Keys that were deleted while this process runs, and are still known by name. */
const MAX_DELETED = 1000;

/**
 * Tells which keys are refused, and no more often than a person can read: each key once a minute, and all keys that nobody
 * knows together once a minute, since whoever tries some out has more of them than there is room.
 */
export class RefusedKeys {
  private readonly report: (refused: RefusedKey) => void;
  private readonly deleted = new Map<string, string>();
  /** By hash; all unknown ones are under ''. */
  private readonly told = new Map<string, { atMs: number; quiet: number }>();

  constructor(tell: (refused: RefusedKey) => void) {
    this.report = tell;
  }

  /**
   * Keeps the names of keys that are no longer there.
   *
   * @param after hashes of those that are
   */
  remember(
    before: Iterable<{ caller: Pick<Caller, 'keyHash' | 'keyName'> }>,
    after: { has(hash: string): boolean },
  ): void {
    for (const hash of this.deleted.keys()) if (after.has(hash)) this.deleted.delete(hash);
    for (const { caller } of before) if (!after.has(caller.keyHash)) this.deleted.set(caller.keyHash, caller.keyName);
    for (const hash of this.deleted.keys()) {
      if (this.deleted.size <= MAX_DELETED) break;
      this.deleted.delete(hash); // the one that was deleted first
      this.told.delete(hash);
    }
  }

  /** @param known the key, when there is one */
  refuse(hash: string, known?: { name: string; disabled: boolean }): void {
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
    this.report({ hash, name, why, times: 1 + (last?.quiet ?? 0) });
  }
}
