import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { FilterSource } from '../domain/content-filter.ts';
import { GatewayError } from '../domain/errors.ts';
import { type CallerRateLimits, isRateLimited, type RateLimits } from '../domain/rate-limits.ts';
import type { Reach } from '../domain/reach.ts';
import { type RequestDefaults, sortKeys } from '../domain/request-defaults.ts';
import type { Topic } from '../platform/bus/bus.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import type { MemberRecord } from '../platform/storage/ports/members.ts';
import type { AccessPresets } from '../platform/storage/ports/presets.ts';
import type { AppliedSettings, WorkspaceRecord } from '../platform/storage/ports/workspaces.ts';
import { type GuardrailAssignments, applyGuardrails } from './apply-guardrails.ts';
import { ConnectionHashes } from './connection-hashes.ts';
import { deriveKeyNumber } from './key-text.ts';
import { PresetMemory } from './load-presets.ts';
import { type RefusedKey, RefusedKeys } from './refused-keys.ts';

/** Published after a change of keys, workspaces, members or guardrails. */
export const accessTopic: Topic<null> = { name: 'access', read: () => null };

/** The part of the store that access control uses. */
export interface KeySource extends AccessPresets {
  readRevision(): Promise<number>;
  listKeys(): Promise<readonly KnownKey[]>;
  listAppliedGuardrails(): Promise<GuardrailAssignments>;
  listAppliedSettings(): Promise<readonly AppliedSettings[]>;
  listMembers(): Promise<readonly MemberRecord[]>;
  listWorkspaces(): Promise<readonly Pick<WorkspaceRecord, 'id' | 'name'>[]>;
}
/** The part of a key that access control uses. */
export type KnownKey = Pick<
  KeyRecord,
  'hash' | 'name' | 'kind' | 'workspaceId' | 'memberId' | 'disabled' | 'expiresAtMs' | 'rateLimits' | 'internId'
>;

/** All keys, in memory. Requests never wait for the store. */
export interface Access {
  /**
   * @param authorization the header as received
   * @param connection on which it was received. Most clients send the same key again, which is then not hashed again
   * @throws {GatewayError} `authentication`, with one of the two messages of the interface
   */
  authenticate(authorization: string | undefined, connection?: object): Caller;
  /**
   * The same. If the key is not valid in memory, the result is a promise: another process may have created or changed
   * the key since the last poll, so the store is read first.
   *
   * @param sent all headers with a key, in the form of `authorization`. Clients send a placeholder or a key of another service beside
   *   the one that counts, so the first valid one does
   * @throws {GatewayError} `authentication`; as a rejection also `unavailable`: the store did not respond
   */
  identify(sent: readonly string[], connection?: object): Caller | Promise<Caller>;
  /**
   * Checks that the store has responded recently. Keys in memory stay valid for `graceMs` without it.
   *
   * @throws {GatewayError} `unavailable` after that time: a key may be revoked by now
   */
  checkFresh(graceMs: number): void;
  /** Finds the caller of the first key if it is known and not valid. @param connection of the request */
  findRejected(sent: readonly string[], connection: object): Caller | undefined;
  /** Age in ms of the keys in memory; at most about half a second while the store responds. */
  readonly ageMs: number;
  /** When the keys in memory were read, Unix milliseconds. */
  readonly seenAtMs: number;
  /** Returns the caller of a key that is valid now. */
  findCaller(keyHash: string): Caller | undefined;
  /**
   * The rate limits of a key, its member and its workspace; undefined: the key is unknown, or none of them has a limit.
   */
  findRateLimits(keyHash: string): CallerRateLimits | undefined;
  /** Reloads the keys, regardless of the revision. @throws the store's error */
  refresh(): Promise<void>;
  close(): void;
}

export interface AccessOptions {
  /** Called when the store stops responding, once per outage. */
  onTrouble: (error: unknown) => void;
  /** Called when the store responds again. */
  onRecovery?: () => void;
  /** Called when a key is rejected, at a limited rate. The response does not say why. */
  onRefused?: (refused: RefusedKey) => void;
  /**
   * Called before changed keys, workspaces, members or limits take effect. Awaited: no key is known before its limit.
   */
  onChange?: () => Promise<void>;
  /** Called with the content filters of all callers before they take effect. Awaited: no request compiles them. */
  prepareFilters?: (sources: readonly (readonly FilterSource[])[]) => Promise<void>;
  /** The limits of callers that are interns. */
  internReach: Reach;
}

/** How often the store is polled for changed keys: a revoked key is rejected everywhere within a second. */
const POLL_MS = 500;
/** Invalid keys read the store at most this often, whatever their number. */
const MIN_READ_GAP_MS = 20;
/**
 * The gap after a read is this many times as long as the read, so that a store with many keys has time for others. It has an
 * upper limit, because a read may take long for another reason.
 */
const READ_GAP_FACTOR = 4;
const MAX_READ_GAP_MS = 1000;
/** A request with an unknown key waits at most this long. */
const MAX_WAIT_MS = 1500;
/** Reads for requests that run at the same time. A store that does not respond gets no more of them. */
const MAX_READS = 2;

/** Reads all keys and keeps them in step with the store. @throws the store's error if the first read fails */
export async function openAccess(
  source: KeySource,
  { onTrouble, onRecovery, onRefused = () => {}, onChange, prepareFilters, internReach }: AccessOptions,
): Promise<Access> {
  const refused = new RefusedKeys(onRefused);
  const memory = new PresetMemory();
  let callers = new Map<string, { caller: Caller; disabled: boolean; expiresAtMs: number | null }>();
  const hashes = new ConnectionHashes();
  let revision = Number.NaN;
  let troubled = false;
  let started = 0;
  let taken = 0;
  /** performance.now() */
  let seenAt = 0;
  /** The same in Unix milliseconds. */
  let seenAtMs = 0;

  async function refresh(): Promise<void> {
    const turn = ++started;
    const askedAt = performance.now();
    const read = await source.readRevision(); // before the keys: the next poll finds a change in between
    const [keys, settings, members, workspaces] = await Promise.all([
      source.listKeys(),
      source.listAppliedSettings(),
      source.listMembers(),
      source.listWorkspaces(),
    ]);
    const guardrailsOf = applyGuardrails(await source.listAppliedGuardrails()); // after the keys, to include a new key
    const applied = keys.map(guardrailsOf);
    if (turn < taken) return; // a later read was faster: this one is stale
    revoke(keys); // at once: reading limits may take longer
    const presets = await memory.load(source);
    if (started > 1) await onChange?.(); // at the start the limits have just been read
    await prepareFilters?.([
      ...new Set(applied.flatMap(({ contentFilters }) => (contentFilters ? [contentFilters] : []))),
    ]);
    if (turn < taken) return;
    taken = turn;
    const logging = new Map(settings.map(({ workspaceId, ioLogging }) => [workspaceId, ioLogging]));
    const defaults = new Map(settings.map((each) => [each.workspaceId, readDefaults(each)])); // shared by all its keys
    const workspaceRates = new Map(settings.map(({ workspaceId, rateLimits }) => [workspaceId, rateLimits]));
    const memberRates = new Map(members.map(({ id, rateLimits }) => [id, rateLimits]));
    const workspaceNames = new Map(workspaces.map(({ id, name }) => [id, name]));
    const before = callers;
    callers = new Map(
      keys.map((key, at) => [
        key.hash,
        {
          caller: {
            keyHash: key.hash,
            keyName: key.name,
            kind: key.kind,
            workspaceId: key.workspaceId,
            workspaceName: workspaceNames.get(key.workspaceId),
            memberId: key.memberId,
            internId: key.internId ?? undefined,
            reach: key.internId ? internReach : undefined,
            contentSampling: samplingOf(key, logging.get(key.workspaceId)),
            ...applied[at],
            rateLimits: collectRates({
              key: key.rateLimits,
              member: key.memberId === null ? null : memberRates.get(key.memberId),
              workspace: workspaceRates.get(key.workspaceId),
            }),
            defaults: defaults.get(key.workspaceId),
            presets: presets.get(key.workspaceId),
          },
          disabled: key.disabled,
          expiresAtMs: key.expiresAtMs,
        },
      ]),
    );
    refused.remember(before.values(), callers);
    revision = read;
    seenAt = askedAt;
    seenAtMs = currentTimeMs();
  }

  /** Rejects known keys that have been disabled or deleted. */
  function revoke(keys: readonly KnownKey[]): void {
    const enabled = new Set(keys.filter(({ disabled }) => !disabled).map(({ hash }) => hash));
    for (const [hash, known] of callers) if (!enabled.has(hash)) known.disabled = true;
  }

  let timer: NodeJS.Timeout;
  let closed = false;
  /** The revision that is being read. */
  let wanted = Number.NaN;
  const fail = (error: unknown): void => {
    if (!troubled && !closed) onTrouble(error);
    troubled = true;
  };
  const recover = (): void => {
    if (troubled) onRecovery?.();
    troubled = false;
  };
  const poll = async (): Promise<void> => {
    try {
      const askedAt = performance.now();
      const changed = await source.readRevision();
      if (changed === revision) {
        seenAt = askedAt;
        seenAtMs = currentTimeMs();
        recover();
      } else if (changed !== wanted) {
        wanted = changed;
        // Not awaited: limits may take long to read, and the next change must not wait for them.
        refresh().then(recover, (error) => {
          wanted = Number.NaN;
          fail(error);
        });
      }
    } catch (error) {
      fail(error);
    }
    if (!closed) timer = setTimeout(poll, POLL_MS).unref();
  };

  let reading: Promise<void> = Promise.resolve();
  let nextRead: Promise<void> | undefined;
  let nextReadAt = 0;
  let reads = 0;
  async function readOnce(): Promise<void> {
    if (reads >= MAX_READS) throw new Error(`${reads} reads of the keys have not ended.`);
    reads++;
    try {
      const startedAt = performance.now();
      if ((await source.readRevision()) !== revision) await refresh();
      const endedAt = performance.now();
      const gapMs = READ_GAP_FACTOR * (endedAt - startedAt);
      nextReadAt = endedAt + Math.min(Math.max(gapMs, MIN_READ_GAP_MS), MAX_READ_GAP_MS);
    } finally {
      reads--;
    }
  }
  /** Reads what has changed in the store until now. All requests that wait share the next read. */
  async function readChanges(): Promise<void> {
    await reading.catch(() => {}); // it may have started before the change that the caller waits for
    const waitMs = nextReadAt - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    nextRead = undefined;
    reading = withTimeout(MAX_WAIT_MS, readOnce()); // a read that ends later still counts
    await reading;
  }

  const findValid = (hash: string | undefined): Caller | undefined => {
    const known = hash === undefined ? undefined : callers.get(hash);
    if (!known || known.disabled || (known.expiresAtMs !== null && known.expiresAtMs <= currentTimeMs())) return;
    return known.caller;
  };
  const authenticate = (authorization: string | undefined, connection?: object): Caller => {
    const hash = hashes.find(requireHeader(authorization), connection);
    const caller = findValid(hash);
    if (caller) return caller;
    const known = hash === undefined ? undefined : callers.get(hash);
    if (hash !== undefined) {
      refused.refuse(hash, known && { name: known.caller.keyName, disabled: known.disabled }, connection);
    }
    const problem = known && (known.disabled ? 'The API key is disabled.' : 'The API key has expired.'); // choice 863
    throw new GatewayError('authentication', problem ?? 'Invalid or missing API key.');
  };
  /** Finds the caller of the first valid key. */
  const findFirst = (sent: readonly string[]): Caller | undefined => {
    for (const authorization of sent) {
      const caller = findValid(hashes.find(authorization, undefined));
      if (caller) return caller;
    }
    return undefined;
  };
  const authenticateAfterChanges = async (sent: readonly string[], connection?: object): Promise<Caller> => {
    nextRead ??= readChanges();
    nextRead.catch(() => {}); // if no request waits for it any more
    try {
      await withTimeout(MAX_WAIT_MS, nextRead);
    } catch (cause) {
      const text = 'The store did not respond, so this key could not be checked; try again later.';
      throw new GatewayError('unavailable', text, { retryAfterSeconds: 1, cause });
    }
    return findFirst(sent.slice(1)) ?? authenticate(sent[0], connection);
  };

  await refresh();
  timer = setTimeout(poll, POLL_MS).unref();

  return {
    authenticate,
    findRejected([first], connection) {
      const hash = first === undefined ? undefined : hashes.find(first, connection);
      return hash === undefined || findValid(hash) ? undefined : callers.get(hash)?.caller;
    },
    identify(sent, connection) {
      const first = requireHeader(sent[0]);
      const hash = hashes.find(first, connection);
      const caller = findValid(hash) ?? (sent.length > 1 ? findFirst(sent.slice(1)) : undefined);
      if (caller) return caller;
      const mayBeNew = hash !== undefined || sent.length > 1;
      return mayBeNew ? authenticateAfterChanges(sent, connection) : authenticate(first, connection);
    },
    checkFresh(graceMs) {
      if (performance.now() - seenAt <= graceMs + POLL_MS) return;
      const text = `The store has not responded for more than ${graceMs / 1000} s (storage.grace_ms), and keys may have changed since; try again later.`;
      throw new GatewayError('unavailable', text, { retryAfterSeconds: 5 });
    },
    get seenAtMs() {
      return seenAtMs;
    },
    get ageMs() {
      return performance.now() - seenAt;
    },
    findCaller: findValid,
    findRateLimits: (keyHash) => callers.get(keyHash)?.caller.rateLimits,
    refresh,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function requireHeader(authorization: string | undefined): string {
  if (authorization !== undefined && authorization !== '') return authorization;
  const text = 'Missing authentication header: send `Authorization: Bearer <key>` or `x-api-key: <key>`.';
  throw new GatewayError('authentication', text);
}

function samplingOf({ hash }: KnownKey, wanted: AppliedSettings['ioLogging'] | undefined): number | undefined {
  const isMeant = wanted && (wanted.apiKeyIds === null || wanted.apiKeyIds.includes(deriveKeyNumber(hash)));
  return isMeant ? wanted.samplingRate : undefined;
}

/** @returns undefined if none is limited, so that a request need not check further */
function collectRates(
  all: Record<keyof CallerRateLimits, RateLimits | null | undefined>,
): CallerRateLimits | undefined {
  const limited = Object.entries(all).filter(([, limits]) => limits && isRateLimited(limits));
  return limited.length === 0 ? undefined : Object.fromEntries(limited);
}

/** @returns undefined if the workspace has no defaults, so that a request need not check further */
export function readDefaults(settings: AppliedSettings): RequestDefaults | undefined {
  const defaults = {
    textModel: settings.defaultTextModel ?? undefined,
    imageModel: settings.defaultImageModel ?? undefined,
    providerSort: sortKeys.find((key) => key === settings.defaultProviderSort),
    plugins: settings.defaultPlugins ?? undefined,
    disabledTools: settings.disabledServerTools ?? undefined,
  };
  return Object.values(defaults).every((value) => value === undefined) ? undefined : defaults;
}
