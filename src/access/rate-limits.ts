import { parseSlug } from '../catalog/slug.ts';
import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { type CallerRateLimits, isRateLimited, type RateLimits } from '../domain/rate-limits.ts';
import type { RequestSettings } from '../domain/request.ts';
import type { Admission, Counters, RateRefusal, RateScope } from '../platform/counters/counters.ts';

/** `limits` of the configuration: for each key, each member, each workspace, and for a model across all keys. */
export interface LimitSettings extends RateLimits {
  member: RateLimits;
  workspace: RateLimits;
  /** `*` in the slug matches any text; the first match applies. */
  models: readonly (RateLimits & { model: string })[];
}

/** An admitted request. */
export interface Ticket {
  /**
   * Counts the request for the limit of a model before its attempt, once for each limit.
   *
   * @returns why the limit rejects it; a promise only if it is counted in another process
   */
  enter(model: string): MaybePromise<GatewayError | undefined>;
  /**
   * Opens a ticket for a request that the gateway itself makes to serve this one. It counts for the limits of its
   * models; its tokens also count for the limits of the caller, when this one ends.
   *
   * @param id unique among requests
   */
  openInner(id: string): Ticket;
  /**
   * Ends the request. Call it once.
   *
   * @param tokens that it is known to have used
   * @param isTakenBack whether it was rejected before it was sent, and does not count
   */
  end(tokens: number, isTakenBack: boolean): void;
}

export interface RateLimiterParts {
  counters: Pick<Counters, 'admit' | 'leave'>;
  settings: () => LimitSettings;
  /** Returns the current limits of a key, its member and its workspace. */
  findRateLimits: (keyHash: string) => CallerRateLimits | undefined;
  /** Maximum duration of a request. */
  requestMs: () => number;
  /** Called for every rejection, for metrics: what was limited, and by which limit. */
  onHit?: (scope: ScopeKind, limit: keyof RateLimits) => void;
  now?: () => number;
}
export type ScopeKind = 'key' | 'member' | 'workspace' | 'model';

/** The state that a request of an ended process leaves behind. */
export type OrphanedRequest = Pick<
  LedgerEntry,
  'id' | 'keyHash' | 'workspaceId' | 'memberId' | 'requestedModel' | 'streamed'
>;

type ScopedCaller = Pick<Caller, 'keyHash' | 'keyName' | 'memberId' | 'workspaceId' | 'rateLimits'>;

interface Scope extends RateScope {
  kind: ScopeKind;
  /** For messages. */
  name: string;
  /**
   * The limits of the configuration. Where `limits` differs, the limit is set for the key, member or workspace itself.
   */
  configured: RateLimits;
  /** Their place in the configuration. */
  path: string;
}

type ScopedAdmission = Admission & { scopes: readonly Scope[] };

/** The models of a request after its admission. */
interface EnteredModels {
  all: ScopedAdmission[];
  /** The limit of the last model; undefined if it has none, or it was counted at admission. */
  current: ScopedAdmission | undefined;
}

type HolderKind = Exclude<ScopeKind, 'model'>;
/** In the order of checks: the narrowest first. */
const holderKinds = ['key', 'member', 'workspace'] as const satisfies readonly HolderKind[];
const idFields = { key: 'keyHash', member: 'memberId', workspace: 'workspaceId' } as const;

/** Maximum time that a stream outlives the deadline of its request. */
const LEASE_MARGIN_MS = 60_000;

const units: Record<keyof RateLimits, string> = {
  requests_per_minute: 'requests a minute',
  tokens_per_minute: 'tokens a minute',
  concurrent_streams: 'streams at a time',
};

/**
 * Limits the requests and tokens of keys, members, workspaces and models within the last 60 seconds, and their open
 * streams. A rejected request does not count. Tokens are known when a response ends, so a token limit rejects the
 * request after the one that exceeded it. Counts belong to the key, member, workspace or model: a changed limit does
 * not reset them.
 */
export class RateLimiter {
  private readonly parts: RateLimiterParts;

  constructor(parts: RateLimiterParts) {
    this.parts = parts;
  }

  /**
   * Admits a request.
   *
   * @param id unique among requests
   * @returns undefined if nothing is limited; a promise only if it is counted in another process
   * @throws {GatewayError} `rate_limited`, with the limit, its remainder and when it resets
   */
  admit(caller: Caller, request: RequestSettings, id: string): MaybePromise<Ticket | undefined> {
    const scopes = this.listScopes(caller, findOnlyModel(request));
    if (scopes.length === 0 && this.parts.settings().models.length === 0) return undefined;
    const leaseMs = this.parts.requestMs() + LEASE_MARGIN_MS;
    const admission = { id, scopes, isStream: request.stream === true, leaseMs };
    const answer = scopes.length === 0 ? undefined : this.parts.counters.admit(admission);
    return answer instanceof Promise
      ? answer.then((refusal) => this.issue(admission, refusal))
      : this.issue(admission, answer);
  }

  /** Whether a limit applies to all requests: that of each key or of each workspace. */
  get limitsEverything(): boolean {
    const settings = this.parts.settings();
    return isRateLimited(settings) || isRateLimited(settings.workspace);
  }

  private enter(model: string, first: ScopedAdmission, entered: EnteredModels): MaybePromise<GatewayError | undefined> {
    const scope = this.findModelScope(model);
    if (!scope || first.scopes.some(({ id }) => id === scope.id)) {
      entered.current = undefined;
      return undefined;
    }
    entered.current = entered.all.find(({ scopes }) => scopes[0]!.id === scope.id);
    if (entered.current) return undefined;
    const admission = { ...first, id: nameEntry(first.id, scope), scopes: [scope] };
    const note = (refusal: RateRefusal | undefined): GatewayError | undefined => {
      if (refusal) return this.refuse(scope, refusal);
      entered.current = admission;
      entered.all.push(admission);
      return undefined;
    };
    const answer = this.parts.counters.admit(admission);
    return answer instanceof Promise ? answer.then(note) : note(answer);
  }

  /** Ends the streams of a process that has ended. */
  async release(ended: readonly OrphanedRequest[]): Promise<void> {
    const { counters } = this.parts;
    await Promise.all(
      ended.map(async ({ id, streamed, requestedModel, ...caller }) => {
        if (!streamed) return;
        const ofStream = { isStream: true, leaseMs: 0 };
        const rateLimits = this.parts.findRateLimits(caller.keyHash);
        const scopes = this.listScopes({ ...caller, keyName: '', rateLimits }, requestedModel);
        if (scopes.length > 0) await counters.leave({ id, scopes, ...ofStream }, 0);
        for (const index of this.parts.settings().models.keys()) {
          const scope = this.makeModelScope(index);
          await counters.leave({ id: nameEntry(id, scope), scopes: [scope], ...ofStream }, 0);
        }
      }),
    );
  }

  private issue(admission: ScopedAdmission, refusal: RateRefusal | undefined): Ticket {
    if (refusal) throw this.refuse(admission.scopes[refusal.scope]!, refusal);
    const { counters } = this.parts;
    let entered: EnteredModels | undefined;
    let innerTokens = 0;
    return {
      enter: (model) => {
        entered ??= { all: [], current: undefined };
        return this.enter(model, admission, entered);
      },
      openInner: (id) => {
        const inner = this.issue({ ...admission, id, scopes: [], isStream: false }, undefined);
        return {
          ...inner,
          end(tokens, isTakenBack) {
            inner.end(tokens, isTakenBack);
            innerTokens += tokens;
          },
        };
      },
      end(tokens, isTakenBack) {
        if (admission.scopes.length > 0 && innerTokens === 0) void counters.leave(admission, tokens, isTakenBack);
        else {
          for (const [isModel, scopes] of Map.groupBy(admission.scopes, ({ kind }) => kind === 'model')) {
            void counters.leave({ ...admission, scopes }, isModel ? tokens : tokens + innerTokens, isTakenBack);
          }
        }
        if (!entered) return;
        for (const each of entered.all) void counters.leave(each, each === entered.current ? tokens : 0, isTakenBack);
      },
    };
  }

  private refuse(scope: Scope, refusal: RateRefusal): GatewayError {
    this.parts.onHit?.(scope.kind, refusal.limit);
    return explain(scope, refusal, this.parts.now?.() ?? currentTimeMs());
  }

  /** @param model undefined: not known yet */
  private listScopes(caller: ScopedCaller, model: string | undefined): Scope[] {
    const settings = this.parts.settings();
    const scopes: Scope[] = [];
    for (const kind of holderKinds) {
      const configured = kind === 'key' ? settings : settings[kind];
      const own = caller.rateLimits?.[kind];
      const holder = caller[idFields[kind]];
      if (holder === null || !(own || isRateLimited(configured))) continue;
      const limits = own ? takeStricter(configured, own) : configured;
      const path = kind === 'key' ? 'limits' : `limits.${kind}`;
      scopes.push({ kind, id: `${kind} ${holder}`, name: nameHolder(kind, caller), limits, configured, path });
    }
    const scope = model === undefined ? undefined : this.findModelScope(model);
    if (scope) scopes.push(scope);
    return scopes;
  }

  private findModelScope(model: string): Scope | undefined {
    const { models } = this.parts.settings();
    const index = models.length === 0 ? -1 : findLimit(models, model);
    return index !== -1 && isRateLimited(models[index]!) ? this.makeModelScope(index) : undefined;
  }

  private makeModelScope(index: number): Scope {
    const limits = this.parts.settings().models[index]!;
    const name = `The model ${limits.model}`;
    const path = `limits.models[${index}]`;
    return { kind: 'model', id: `model ${limits.model}`, name, limits, configured: limits, path };
  }
}

/** Names a separate entry, for the limit of a model that a request reaches after its admission. */
const nameEntry = (id: string, scope: Scope): string => `${id} ${scope.id}`;

/** The model to count at admission. If a request names several, each counts before its attempt. */
const findOnlyModel = ({ model, models = [] }: RequestSettings): string | undefined =>
  models.length > (model === undefined ? 1 : 0) ? undefined : (model ?? models[0]);

function explain(scope: Scope, { limit: field, freeInMs }: RateRefusal, nowMs: number): GatewayError {
  const { kind, name, path, limits, configured } = scope;
  const limit = limits[field];
  const place = limit === configured[field] ? `${path}.${field}` : `${field} of the ${kind}`;
  const seconds = Math.max(1, Math.ceil(freeInMs / 1000));
  const message = `${name} is limited to ${limit} ${units[field]} (${place}); try again in ${seconds} s.`;
  return new GatewayError('rate_limited', message, {
    retryAfterSeconds: seconds,
    rateLimit: { limit, remaining: 0, resetAtMs: Math.ceil(nowMs + freeInMs) },
  });
}

/** Returns the lower of each pair of limits; 0 is no limit. */
const takeStricter = (one: RateLimits, other: RateLimits): RateLimits => ({
  requests_per_minute: takeLower(one.requests_per_minute, other.requests_per_minute),
  tokens_per_minute: takeLower(one.tokens_per_minute, other.tokens_per_minute),
  concurrent_streams: takeLower(one.concurrent_streams, other.concurrent_streams),
});
const takeLower = (one: number, other: number): number =>
  one === 0 || other === 0 ? one + other : Math.min(one, other);

function nameHolder(kind: HolderKind, { keyName, memberId }: ScopedCaller): string {
  if (kind === 'key') return `The key ${keyName}`;
  return kind === 'member' ? `The member ${memberId}` : 'This workspace';
}

/** Finds the limit of a model. A suffix that only sorts is ignored: `:nitro` must not avoid a limit. */
function findLimit(models: LimitSettings['models'], slug: string): number {
  const model = slug.includes(':') ? parseSlug(slug).model : slug;
  return models.findIndex((each) => matches(each.model, model) || (model !== slug && matches(each.model, slug)));
}

/** Whether a slug matches: one `*` for any text, in any case. */
function matches(pattern: string, model: string): boolean {
  const lower = pattern.toLowerCase();
  const slug = model.toLowerCase();
  const star = lower.indexOf('*');
  if (star === -1) return slug === lower;
  const [before, after] = [lower.slice(0, star), lower.slice(star + 1)];
  return slug.length >= before.length + after.length && slug.startsWith(before) && slug.endsWith(after);
}
