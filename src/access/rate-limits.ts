import { parseSlug } from '../catalog/slug.ts';
import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError, type RateLimit } from '../domain/errors.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { type CallerRateLimits, isRateLimited, type RateLimits } from '../domain/rate-limits.ts';
import type { RequestSettings } from '../domain/request.ts';
import {
  type Admission,
  type Admitted,
  type Counters,
  isRefused,
  type RateDecision,
  type RateRefusal,
  type RateScope,
} from '../platform/counters/counters.ts';
import { WINDOW_MS } from '../platform/counters/rates.ts';

/** `limits` of the configuration: for each key, each member, each workspace, and for a model across all keys. */
export interface LimitSettings extends RateLimits {
  member: RateLimits;
  workspace: RateLimits;
  /** `*` in the slug matches any text; the first match applies. */
  models: readonly (RateLimits & { model: string })[];
}

/** The facts about a request that the limits read. */
export interface Demand extends Pick<RequestSettings, 'model' | 'models'> {
  /** Whether it counts for `concurrent_requests`. */
  isConcurrent: boolean;
  /** Estimates its input and output. Called only if tokens are limited. */
  estimateTokens: () => number;
}

/** An admitted request. */
export interface Ticket {
  /** The rest of the limits that counted it: at most one of requests and one of tokens, the strictest of each. */
  readonly rests: readonly RateLimit[];
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
   * @param estimateTokens estimates its input and output. Called only if tokens of models are limited
   */
  openInner(id: string, estimateTokens: () => number): Ticket;
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
  'id' | 'keyHash' | 'workspaceId' | 'memberId' | 'requestedModel' | 'tags'
>;

/** Returns the parts of an entry that name the limits of its request. */
export const readOrphanedRequest = (entry: OrphanedRequest): OrphanedRequest => {
  const { id, keyHash, workspaceId, memberId, requestedModel, tags } = entry;
  return { id, keyHash, workspaceId, memberId, requestedModel, ...(tags && { tags }) };
};

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
interface Entry {
  admission: ScopedAdmission;
  /** `Admitted.atMs`. Undefined: it has no limits. */
  admittedAtMs: number | undefined;
}

/** The models of a request after its admission. */
interface EnteredModels {
  all: Entry[];
  /** The limit of the last model; undefined if it has none, or it was counted at admission. */
  current: Entry | undefined;
}

type HolderKind = Exclude<ScopeKind, 'model'>;
/** In the order of checks: the narrowest first. */
const holderKinds = ['key', 'member', 'workspace'] as const satisfies readonly HolderKind[];
const idFields = { key: 'keyHash', member: 'memberId', workspace: 'workspaceId' } as const;

/** Maximum time that a response outlives the deadline of its request. */
const LEASE_MARGIN_MS = 60_000;
/** The largest estimate, so that no number of a request is beyond the range of the counters. */
const MAX_RESERVED = 2 ** 31;

const units: Record<keyof RateLimits, readonly [noun: string, span: string]> = {
  requests_per_minute: ['request', 'a minute'],
  tokens_per_minute: ['token', 'a minute'],
  concurrent_requests: ['request', 'at a time'],
};

/**
 * Limits the requests and tokens of keys, members, workspaces and models within the last 60 seconds, and their requests
 * in flight. A rejected request does not count. Tokens are known when a response ends. Until then, for a minute at most,
 * an estimate is reserved. A request that finds no reservation of another one only needs a part of the limit, whatever
 * its estimate. Counts belong to the key, member, workspace or model: a changed limit does not reset them.
 *
 * @see docs/guides/limits.md#rates
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
  admit(caller: Caller, demand: Demand, id: string): MaybePromise<Ticket | undefined> {
    const scopes = this.listScopes(caller, findOnlyModel(demand));
    const { models } = this.parts.settings();
    if (scopes.length === 0 && models.length === 0) return undefined;
    const leaseMs = this.parts.requestMs() + LEASE_MARGIN_MS;
    const limitsTokens = scopes.some(({ limits }) => limits.tokens_per_minute > 0) || this.limitsTokensOfModels;
    const tokens = limitsTokens ? Math.min(demand.estimateTokens(), findLargestReservation(scopes)) : 0;
    const admission = { id, scopes, isConcurrent: demand.isConcurrent, tokens, leaseMs };
    if (scopes.length === 0) return this.issue({ admission, admittedAtMs: undefined });
    const answer = this.parts.counters.admit(admission);
    return answer instanceof Promise
      ? answer.then((answered) => this.issueIfAdmitted(admission, answered))
      : this.issueIfAdmitted(admission, answer);
  }

  /** Whether a limit applies to all requests: that of each key or of each workspace. */
  get limitsEverything(): boolean {
    const settings = this.parts.settings();
    return isRateLimited(settings) || isRateLimited(settings.workspace);
  }

  private get limitsTokensOfModels(): boolean {
    return this.parts.settings().models.some((limits) => limits.tokens_per_minute > 0);
  }

  private enter(model: string, first: ScopedAdmission, entered: EnteredModels): MaybePromise<GatewayError | undefined> {
    const scope = this.findModelScope(model);
    if (!scope || first.scopes.some(({ id }) => id === scope.id)) {
      entered.current = undefined;
      return undefined;
    }
    entered.current = entered.all.find(({ admission: { scopes } }) => scopes[0]!.id === scope.id);
    if (entered.current) return undefined;
    const admission = { ...first, id: nameEntry(first.id, scope), scopes: [scope] };
    const note = (answered: RateDecision): GatewayError | undefined => {
      if (isRefused(answered)) return this.refuse(scope, answered);
      entered.current = { admission, admittedAtMs: answered.atMs };
      entered.all.push(entered.current);
      return undefined;
    };
    const answer = this.parts.counters.admit(admission);
    return answer instanceof Promise ? answer.then(note) : note(answer);
  }

  /** Ends the requests of a process that has ended. Their reserved tokens count for a minute. */
  async release(ended: readonly OrphanedRequest[]): Promise<void> {
    const { counters } = this.parts;
    const rest = { isConcurrent: true, tokens: 0, leaseMs: 0 };
    const outcome = { tokens: undefined, admittedAtMs: undefined };
    await Promise.all(
      ended.map(async ({ id, requestedModel, tags: _, ...caller }) => {
        const rateLimits = this.parts.findRateLimits(caller.keyHash);
        const scopes = this.listScopes({ ...caller, keyName: '', rateLimits }, requestedModel);
        if (scopes.length > 0) await counters.leave({ id, scopes, ...rest }, outcome);
        for (const index of this.parts.settings().models.keys()) {
          const scope = this.makeModelScope(index);
          await counters.leave({ id: nameEntry(id, scope), scopes: [scope], ...rest }, outcome);
        }
      }),
    );
  }

  /** @throws {GatewayError} `rate_limited` */
  private issueIfAdmitted(admission: ScopedAdmission, answered: RateDecision): Ticket {
    if (isRefused(answered)) throw this.refuse(admission.scopes[answered.scope]!, answered);
    return this.issue({ admission, admittedAtMs: answered.atMs }, answered);
  }

  private issue({ admission, admittedAtMs }: Entry, admitted?: Admitted): Ticket {
    const { counters } = this.parts;
    let entered: EnteredModels | undefined;
    let innerTokens = 0;
    return {
      rests: admitted ? listRests(admission.scopes, admitted, this.nowMs) : [],
      enter: (model) => {
        entered ??= { all: [], current: undefined };
        return this.enter(model, admission, entered);
      },
      openInner: (id, estimateTokens) => {
        const tokens = this.limitsTokensOfModels ? Math.min(estimateTokens(), MAX_RESERVED) : 0;
        const inner = this.issue({
          admission: { ...admission, id, scopes: [], isConcurrent: false, tokens },
          admittedAtMs: undefined,
        });
        return {
          ...inner,
          end(tokens, isTakenBack) {
            inner.end(tokens, isTakenBack);
            innerTokens += tokens;
          },
        };
      },
      end(tokens, isTakenBack) {
        if (admission.scopes.length > 0 && innerTokens === 0) {
          void counters.leave(admission, { tokens, admittedAtMs, isTakenBack });
        } else {
          for (const [isModel, scopes] of Map.groupBy(admission.scopes, ({ kind }) => kind === 'model')) {
            const all = isModel ? tokens : tokens + innerTokens;
            void counters.leave({ ...admission, scopes }, { tokens: all, admittedAtMs, isTakenBack });
          }
        }
        if (!entered) return;
        for (const each of entered.all) {
          const used = each === entered.current ? tokens : 0;
          void counters.leave(each.admission, { tokens: used, admittedAtMs: each.admittedAtMs, isTakenBack });
        }
      },
    };
  }

  private get nowMs(): number {
    return this.parts.now?.() ?? currentTimeMs();
  }

  private refuse(scope: Scope, refusal: RateRefusal): GatewayError {
    this.parts.onHit?.(scope.kind, refusal.limit);
    return explain(scope, refusal, this.nowMs);
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
    const name = `The model "${limits.model}"`;
    const path = `limits.models[${index}]`;
    return { kind: 'model', id: `model ${limits.model}`, name, limits, configured: limits, path };
  }
}

/** Returns the strictest limit: a caller with a small one of its own must not reserve all of a large one of its workspace. */
const findLargestReservation = (scopes: readonly Scope[]): number =>
  Math.min(MAX_RESERVED, ...scopes.flatMap(({ limits }) => limits.tokens_per_minute || []));

/** Names a separate entry, for the limit of a model that a request reaches after its admission. */
const nameEntry = (id: string, scope: Scope): string => `${id} ${scope.id}`;

/** The model to count at admission. If a request names several, each counts before its attempt. */
const findOnlyModel = ({ model, models = [] }: Demand): string | undefined =>
  models.length > (model === undefined ? 1 : 0) ? undefined : (model ?? models[0]);

/** The limits that have a rest, and the count of each. */
const restUnits = { requests: 'requests_per_minute', tokens: 'tokens_per_minute' } as const;

/** Returns the limits of which the least is left, one of each unit. */
function listRests(scopes: readonly Scope[], { counts }: Admitted, nowMs: number): RateLimit[] {
  return (['requests', 'tokens'] as const).flatMap((unit) => {
    let strictest: RateLimit | undefined;
    for (const [at, { limits }] of scopes.entries()) {
      const limit = limits[restUnits[unit]];
      const remaining = Math.max(0, limit - counts[at]![unit]);
      if (limit > 0 && remaining <= (strictest?.remaining ?? remaining)) {
        strictest = { unit, limit, remaining, resetAtMs: nowMs + WINDOW_MS };
      }
    }
    return strictest ?? [];
  });
}

function explain(scope: Scope, refusal: RateRefusal, nowMs: number): GatewayError {
  const { limit: field, remaining, isReserved, freeInMs } = refusal;
  const { kind, name, path, limits, configured } = scope;
  const limit = limits[field];
  const place = limit === configured[field] ? `${path}.${field}` : `${field} of the ${kind}`;
  const seconds = Math.max(1, Math.ceil(freeInMs / 1000));
  const reserved = isReserved ? ', and requests in flight have reserved the rest' : '';
  const [noun, span] = units[field];
  const count = `${limit} ${limit === 1 ? noun : `${noun}s`} ${span}`;
  const message = `${name} is limited to ${count} (${place})${reserved}; try again in ${seconds} s.`;
  const unit = field === 'concurrent_requests' ? undefined : field === 'requests_per_minute' ? 'requests' : 'tokens';
  return new GatewayError('rate_limited', message, {
    retryAfterSeconds: seconds,
    rateLimit: { unit, limit, remaining, resetAtMs: Math.ceil(nowMs + freeInMs) },
  });
}

/** Returns the lower of each pair of limits; 0 is no limit. */
const takeStricter = (one: RateLimits, other: RateLimits): RateLimits => ({
  requests_per_minute: takeLower(one.requests_per_minute, other.requests_per_minute),
  tokens_per_minute: takeLower(one.tokens_per_minute, other.tokens_per_minute),
  concurrent_requests: takeLower(one.concurrent_requests, other.concurrent_requests),
});
const takeLower = (one: number, other: number): number =>
  one === 0 || other === 0 ? one + other : Math.min(one, other);

function nameHolder(kind: HolderKind, { keyName, memberId }: ScopedCaller): string {
  if (kind === 'key') return `The key "${keyName}"`;
  return kind === 'member' ? `The member "${memberId}"` : 'This workspace';
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
