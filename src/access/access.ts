import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import { type CallerRateLimits, isRateLimited, type RateLimits } from '../domain/rate-limits.ts';
import { type RequestDefaults, sortKeys } from '../domain/request-defaults.ts';
import type { Topic } from '../platform/bus/bus.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import type { MemberRecord } from '../platform/storage/ports/members.ts';
import type { AppliedSettings } from '../platform/storage/ports/workspaces.ts';
import { type GuardrailAssignments, applyGuardrails } from './apply-guardrails.ts';
import { hashKey, deriveKeyNumber } from './key-text.ts';
import { type RefusedKey, RefusedKeys } from './refused-keys.ts';

/** Published after a change of keys, workspaces, members or guardrails. */
export const accessTopic: Topic<null> = { name: 'access', read: () => null };

/** The part of the store that access control uses. */
export interface KeySource {
  readRevision(): Promise<number>;
  listKeys(): Promise<readonly KnownKey[]>;
  listAppliedGuardrails(): Promise<GuardrailAssignments>;
  listAppliedSettings(): Promise<readonly AppliedSettings[]>;
  listMembers(): Promise<readonly MemberRecord[]>;
}
/** The part of a key that access control uses. */
export type KnownKey = Pick<
  KeyRecord,
  'hash' | 'name' | 'kind' | 'workspaceId' | 'memberId' | 'disabled' | 'expiresAtMs' | 'rateLimits'
>;

/** All keys, in memory: nothing on the way of a request waits for the store. */
export interface Access {
  /**
   * @param authorization the header as it came
   * @throws {GatewayError} `authentication`, with one of the two messages of the interface
   */
  authenticate(authorization: string | undefined): Caller;
  /**
   * What memory knows holds for a while without the store.
   *
   * @throws {GatewayError} `unavailable` once the store has said nothing for longer: a key may be revoked by now
   */
  checkFresh(graceMs: number): void;
  /** Age in ms of what is known of keys; at most about half a second while the store responds. */
  readonly ageMs: number;
  /** The rate limits of a key, its member and its workspace; undefined: it is not known, or has none. */
  findRateLimits(keyHash: string): CallerRateLimits | undefined;
  /** Reloads the keys, whatever the revision. @throws the store's error */
  refresh(): Promise<void>;
  close(): void;
}

export interface AccessOptions {
  /** The store does not answer; once per streak. */
  onTrouble: (error: unknown) => void;
  /** It answers again. */
  onRecovery?: () => void;
  /** A key was refused that is, or was, somebody's: the caller is told no more than that it is no good. Not at every request. */
  onRefused?: (refused: RefusedKey) => void;
  /** Called before changed keys, workspaces, members or limits take effect. Awaited: no key is known before its limit. */
  onChange?: () => Promise<void>;
}

/** How often the store is asked whether keys have changed: a revoked key is refused everywhere within a second. */
const POLL_MS = 500;

/** Reads all keys and keeps them in step with the store. @throws the store's error at the first reading */
export async function openAccess(
  source: KeySource,
  { onTrouble, onRecovery, onRefused = () => {}, onChange }: AccessOptions,
): Promise<Access> {
  const refused = new RefusedKeys(onRefused);
  let callers = new Map<string, { caller: Caller; disabled: boolean; expiresAtMs: number | null }>();
  let revision = Number.NaN;
  let troubled = false;
  let started = 0;
  let taken = 0;
  /** performance.now() */
  let seenAt = 0;

  async function refresh(): Promise<void> {
    const turn = ++started;
    const askedAt = performance.now();
    const read = await source.readRevision(); // before the keys: a change in between is seen at the next poll
    const [keys, settings, members] = await Promise.all([
      source.listKeys(),
      source.listAppliedSettings(),
      source.listMembers(),
    ]);
    const guardrailsOf = applyGuardrails(await source.listAppliedGuardrails()); // after the keys: a new one has what is its
    if (turn < taken) return; // a later reading was faster: this one is old
    revoke(keys); // at once: reading limits may take longer
    if (started > 1) await onChange?.(); // at the start the limits were just read
    if (turn < taken) return;
    taken = turn;
    const logging = new Map(settings.map(({ workspaceId, ioLogging }) => [workspaceId, ioLogging]));
    const defaults = new Map(settings.map((each) => [each.workspaceId, readDefaults(each)])); // shared by all its keys
    const workspaceRates = new Map(settings.map(({ workspaceId, rateLimits }) => [workspaceId, rateLimits]));
    const memberRates = new Map(members.map(({ id, rateLimits }) => [id, rateLimits]));
    const before = callers;
    callers = new Map(
      keys.map((key) => [
        key.hash,
        {
          caller: {
            keyHash: key.hash,
            keyName: key.name,
            kind: key.kind,
            workspaceId: key.workspaceId,
            memberId: key.memberId,
            contentSampling: samplingOf(key, logging.get(key.workspaceId)),
            guardrails: guardrailsOf(key),
            rateLimits: collectRates({
              key: key.rateLimits,
              member: key.memberId === null ? null : memberRates.get(key.memberId),
              workspace: workspaceRates.get(key.workspaceId),
            }),
            defaults: defaults.get(key.workspaceId),
          },
          disabled: key.disabled,
          expiresAtMs: key.expiresAtMs,
        },
      ]),
    );
    refused.remember(before.values(), callers);
    revision = read;
    seenAt = askedAt;
  }

  /** Refuses keys that are known and were disabled or deleted since. */
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

  await refresh();
  timer = setTimeout(poll, POLL_MS).unref();

  return {
    authenticate(authorization) {
      if (authorization === undefined || authorization === '') {
        throw new GatewayError('authentication', 'Missing authentication header: send `Authorization: Bearer <key>`.');
      }
      const text = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
      const hash = text === undefined ? undefined : hashKey(text);
      const known = hash === undefined ? undefined : callers.get(hash);
      if (!known || known.disabled || (known.expiresAtMs !== null && known.expiresAtMs <= currentTimeMs())) {
        if (hash !== undefined) refused.refuse(hash, known && { name: known.caller.keyName, disabled: known.disabled });
        throw new GatewayError('authentication', 'Invalid or missing API key.');
      }
      return known.caller;
    },
    checkFresh(graceMs) {
      if (performance.now() - seenAt <= graceMs + POLL_MS) return;
      const text = `The store has said nothing for more than ${graceMs / 1000} s (storage.grace_ms), and what holds may have changed since; try again later.`;
      throw new GatewayError('unavailable', text, { retryAfterSeconds: 5 });
    },
    get ageMs() {
      return performance.now() - seenAt;
    },
    findRateLimits: (keyHash) => callers.get(keyHash)?.caller.rateLimits,
    refresh,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function samplingOf({ hash }: KnownKey, wanted: AppliedSettings['ioLogging'] | undefined): number | undefined {
  const isMeant = wanted && (wanted.apiKeyIds === null || wanted.apiKeyIds.includes(deriveKeyNumber(hash)));
  return isMeant ? wanted.samplingRate : undefined;
}

/** @returns undefined if none is limited, so that a request need look no further */
function collectRates(
  all: Record<keyof CallerRateLimits, RateLimits | null | undefined>,
): CallerRateLimits | undefined {
  const limited = Object.entries(all).filter(([, limits]) => limits && isRateLimited(limits));
  return limited.length === 0 ? undefined : Object.fromEntries(limited);
}

/** @returns undefined where the workspace says nothing, so that a request need look no further */
export function readDefaults(settings: AppliedSettings): RequestDefaults | undefined {
  const { defaultTextModel, defaultImageModel, defaultProviderSort } = settings;
  const providerSort = sortKeys.find((key) => key === defaultProviderSort);
  if (defaultTextModel === null && defaultImageModel === null && providerSort === undefined) return undefined;
  return { textModel: defaultTextModel ?? undefined, imageModel: defaultImageModel ?? undefined, providerSort };
}
