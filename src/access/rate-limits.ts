import { parseSlug } from '../catalog/slug.ts';
import type { Caller } from '../domain/caller.ts';
import { GatewayError } from '../domain/errors.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type {
  Admission,
  Counters,
  RateLimits as Limits,
  RateRefusal,
  RateScope,
} from '../platform/counters/counters.ts';

/** `limits` of the configuration: what holds for each key, for each workspace, and for a model whoever asks it. */
export interface LimitSettings extends Limits {
  workspace: Limits;
  /** `*` in the slug stands for any text; the first that matches counts. */
  models: readonly (Limits & { model: string })[];
}

/** A request that was let in. */
export interface Ticket {
  /**
   * Counts the request for the limit of a model that is about to be asked, once for each limit.
   *
   * @returns why it may not be asked now; a promise only where it is counted elsewhere
   */
  enter(model: string): MaybePromise<GatewayError | undefined>;
  /**
   * Call it once, when the request is over.
   *
   * @param tokens that it used, as far as anybody knows
   * @param isTakenBack it was refused before it went out, and does not count
   */
  end(tokens: number, isTakenBack: boolean): void;
}

export interface RateLimitParts {
  counters: Pick<Counters, 'admit' | 'leave'>;
  settings: () => LimitSettings;
  /** The longest that a request may take. */
  requestMs: () => number;
  /** Told of every refusal, for metrics: what was limited, and by which limit. */
  onHit?: (scope: ScopeKind, limit: keyof Limits) => void;
  now?: () => number;
}
export type ScopeKind = 'key' | 'workspace' | 'model';

/** What its process left behind of a request. */
export type OrphanedRequest = Pick<
  LedgerEntry,
  'id' | 'keyHash' | 'workspaceId' | 'memberId' | 'requestedModel' | 'streamed'
>;

type ScopedCaller = Pick<Caller, 'keyHash' | 'keyName' | 'workspaceId'>;

interface Scope extends RateScope {
  kind: ScopeKind;
  /** For messages. */
  name: string;
  /** Where the limit stands in the configuration. */
  path: string;
}

type ScopedAdmission = Admission & { scopes: readonly Scope[] };

/** Models that a request came to after it was let in. */
interface EnteredModels {
  all: ScopedAdmission[];
  /** Of the model that was asked last; undefined where that has no limit, or none that was not counted at the edge. */
  current: ScopedAdmission | undefined;
}

/** A stream outlives the deadline of its request by no more than this. */
const LEASE_MARGIN_MS = 60_000;

const units: Record<keyof Limits, string> = {
  requests_per_minute: 'requests a minute',
  tokens_per_minute: 'tokens a minute',
  concurrent_streams: 'streams at a time',
};

/**
 * Holds keys, workspaces and models to requests and tokens within the last 60 seconds, and to open streams. A request that
 * is refused does not count. Tokens are known when an answer is over, so that a limit of tokens refuses the request after
 * the one that went beyond it.
 */
export class RateLimiter {
  private readonly parts: RateLimitParts;

  constructor(parts: RateLimitParts) {
    this.parts = parts;
  }

  /**
   * Lets a request in.
   *
   * @param id of no other request
   * @returns undefined when nothing is limited; a promise only where it is counted elsewhere
   * @throws {GatewayError} `rate_limited`, with the limit, what is left of it and when it is free again
   */
  admit(caller: Caller, request: ResponseRequest, id: string): MaybePromise<Ticket | undefined> {
    const scopes = this.listScopes(caller, findOnlyModel(request));
    if (scopes.length === 0 && this.parts.settings().models.length === 0) return undefined;
    const leaseMs = this.parts.requestMs() + LEASE_MARGIN_MS;
    const admission = { id, scopes, isStream: request.stream === true, leaseMs };
    const answer = scopes.length === 0 ? undefined : this.parts.counters.admit(admission);
    return answer instanceof Promise
      ? answer.then((refusal) => this.issue(admission, refusal))
      : this.issue(admission, answer);
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

  /** Ends the streams of a process that has ended itself. */
  async release(ended: readonly OrphanedRequest[]): Promise<void> {
    const { counters } = this.parts;
    await Promise.all(
      ended.map(async ({ id, streamed, requestedModel, ...caller }) => {
        if (!streamed) return;
        const ofStream = { isStream: true, leaseMs: 0 };
        const scopes = this.listScopes({ ...caller, keyName: '' }, requestedModel);
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
    return {
      enter: (model) => {
        entered ??= { all: [], current: undefined };
        return this.enter(model, admission, entered);
      },
      end(tokens, isTakenBack) {
        if (admission.scopes.length > 0) void counters.leave(admission, tokens, isTakenBack);
        if (!entered) return;
        for (const each of entered.all) void counters.leave(each, each === entered.current ? tokens : 0, isTakenBack);
      },
    };
  }

  private refuse(scope: Scope, refusal: RateRefusal): GatewayError {
    this.parts.onHit?.(scope.kind, refusal.limit);
    return explain(scope, refusal, this.parts.now?.() ?? Date.now());
  }

  /** @param model undefined: it is not known yet */
  private listScopes({ keyHash, keyName, workspaceId }: ScopedCaller, model: string | undefined): Scope[] {
    const settings = this.parts.settings();
    const scopes: Scope[] = [];
    if (isLimited(settings)) {
      scopes.push({ kind: 'key', id: `key ${keyHash}`, name: `The key ${keyName}`, path: 'limits', limits: settings });
    }
    if (isLimited(settings.workspace)) {
      const path = 'limits.workspace';
      const id = `workspace ${workspaceId}`;
      scopes.push({ kind: 'workspace', id, name: 'This workspace', path, limits: settings.workspace });
    }
    const scope = model === undefined ? undefined : this.findModelScope(model);
    if (scope) scopes.push(scope);
    return scopes;
  }

  private findModelScope(model: string): Scope | undefined {
    const { models } = this.parts.settings();
    const index = models.length === 0 ? -1 : findLimit(models, model);
    return index !== -1 && isLimited(models[index]!) ? this.makeModelScope(index) : undefined;
  }

  private makeModelScope(index: number): Scope {
    const limits = this.parts.settings().models[index]!;
    const name = `The model ${limits.model}`;
    return { kind: 'model', id: `model ${limits.model}`, name, path: `limits.models[${index}]`, limits };
  }
}

/** The limit of a model that a request comes to later is counted by itself. */
const nameEntry = (id: string, scope: Scope): string => `${id} ${scope.id}`;

/** Of a request that names several, each counts when its turn comes. */
const findOnlyModel = ({ model, models = [] }: ResponseRequest): string | undefined =>
  models.length > (model === undefined ? 1 : 0) ? undefined : (model ?? models[0]);

function explain({ name, path, limits }: Scope, { limit: field, freeInMs }: RateRefusal, nowMs: number): GatewayError {
  const limit = limits[field];
  const seconds = Math.max(1, Math.ceil(freeInMs / 1000));
  const message = `${name} is limited to ${limit} ${units[field]} (${path}.${field}); try again in ${seconds} s.`;
  return new GatewayError('rate_limited', message, {
    retryAfterSeconds: seconds,
    rateLimit: { limit, remaining: 0, resetAtMs: Math.ceil(nowMs + freeInMs) },
  });
}

const isLimited = (limits: Limits): boolean =>
  limits.requests_per_minute > 0 || limits.tokens_per_minute > 0 || limits.concurrent_streams > 0;

/** With a suffix that only sorts it is the same model: `:nitro` must lead past no limit. */
function findLimit(models: LimitSettings['models'], slug: string): number {
  const model = slug.includes(':') ? parseSlug(slug).model : slug;
  return models.findIndex((each) => matches(each.model, model) || (model !== slug && matches(each.model, slug)));
}

/** One `*`, any text; case does not matter. */
function matches(pattern: string, model: string): boolean {
  const lower = pattern.toLowerCase();
  const slug = model.toLowerCase();
  const star = lower.indexOf('*');
  if (star === -1) return slug === lower;
  const [before, after] = [lower.slice(0, star), lower.slice(star + 1)];
  return slug.length >= before.length + after.length && slug.startsWith(before) && slug.endsWith(after);
}
