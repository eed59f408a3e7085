import type { Caller } from '../domain/caller.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { RollingCounts } from '../domain/rolling-counts.ts';

/** Limits of one kind of thing; 0 is none. Keys as in the configuration. */
export interface Limits {
  requests_per_minute: number;
  tokens_per_minute: number;
  concurrent_streams: number;
}

/** `limits` of the configuration: what holds for each key, for each workspace, and for a model whoever asks it. */
export interface LimitSettings extends Limits {
  workspace: Limits;
  /** `*` in the slug stands for any text; the first that matches counts. */
  models: readonly (Limits & { model: string })[];
}

/** A request that was let in. */
export interface Ticket {
  /** Call it once, when the request is over. @param tokens that it used, as far as anybody knows */
  end(tokens: number): void;
}

/** Told of every refusal, for metrics: what was limited, and by which limit. */
export type OnHit = (scope: ScopeKind, limit: keyof Limits) => void;
export type ScopeKind = 'key' | 'workspace' | 'model';

interface Scope {
  kind: ScopeKind;
  id: string;
  /** For messages. */
  name: string;
  /** Where the limit stands in the configuration. */
  path: string;
  limits: Limits;
}

const WINDOW_MS = 60_000;
const SLICES = 60;
/** Keys, workspaces and models that are counted at once; beyond it the least recent is forgotten. 1 KB each. */
const MOST_SCOPES = 50_000;
const REQUESTS = 0;
const TOKENS = 1;

/**
 * Counts requests and tokens over the last 60 seconds, and open streams, in the memory of this process. A request that is
 * refused does not count. Tokens are known when an answer is over, so that a limit of tokens refuses the request after
 * the one that went beyond it.
 */
export class RateLimits {
  private readonly settings: () => LimitSettings;
  private readonly onHit: OnHit;
  private readonly now: () => number;
  /** The least recent first. */
  private readonly windows = new Map<string, Window>();

  constructor(settings: () => LimitSettings, onHit: OnHit = () => {}, now: () => number = Date.now) {
    this.settings = settings;
    this.onHit = onHit;
    this.now = now;
  }

  /**
   * Lets a request in.
   *
   * @returns undefined when nothing is limited
   * @throws {GatewayError} `rate_limited`, with the limit, what is left of it and when it is free again
   */
  admit(caller: Caller, request: ResponseRequest): Ticket | undefined {
    const scopes = this.listScopes(caller, request.model ?? request.models?.[0] ?? '');
    if (scopes.length === 0) return undefined;
    const nowMs = this.now();
    const isStream = request.stream === true;
    const windows = scopes.map((scope) => this.windowOf(scope));
    for (const [index, scope] of scopes.entries()) this.check(scope, windows[index]!, isStream, nowMs);
    for (const window of windows) {
      window.counts.add(REQUESTS, nowMs);
      if (isStream) window.streams++;
    }
    return {
      end: (tokens) => {
        for (const window of windows) {
          if (tokens > 0) window.counts.add(TOKENS, this.now(), tokens);
          if (isStream) window.streams--;
        }
      },
    };
  }

  private listScopes({ keyHash, keyName, workspaceId }: Caller, model: string): Scope[] {
    const settings = this.settings();
    const scopes: Scope[] = [];
    if (isLimited(settings)) {
      scopes.push({ kind: 'key', id: keyHash, name: `The key ${keyName}`, path: 'limits', limits: settings });
    }
    if (isLimited(settings.workspace)) {
      const path = 'limits.workspace';
      scopes.push({ kind: 'workspace', id: workspaceId, name: 'This workspace', path, limits: settings.workspace });
    }
    const index = settings.models.findIndex((each) => matches(each.model, model));
    const limits = settings.models[index];
    if (limits && isLimited(limits)) {
      const name = `The model ${limits.model}`;
      scopes.push({ kind: 'model', id: limits.model, name, path: `limits.models[${index}]`, limits });
    }
    return scopes;
  }

  private windowOf({ kind, id }: Scope): Window {
    const key = `${kind} ${id}`;
    const known = this.windows.get(key);
    if (known) {
      if (this.windows.size >= MOST_SCOPES)
        this.windows.delete(key); // it is set anew below, as the most recent
      else return known;
    }
    const window = known ?? { counts: new RollingCounts(WINDOW_MS / SLICES, SLICES, 2), streams: 0 };
    this.windows.set(key, window);
    if (this.windows.size > MOST_SCOPES) this.windows.delete(this.windows.keys().next().value!);
    return window;
  }

  private check(
    { kind, name, path, limits }: Scope,
    { counts, streams }: Window,
    isStream: boolean,
    nowMs: number,
  ): void {
    const refuse = (field: keyof Limits, what: string, remaining: number, resetAtMs: number): never => {
      this.onHit(kind, field);
      const limit = limits[field];
      const seconds = Math.max(1, Math.ceil((resetAtMs - nowMs) / 1000));
      const message = `${name} is limited to ${limit} ${what} (${path}.${field}); try again in ${seconds} s.`;
      throw new GatewayError('rate_limited', message, {
        retryAfterSeconds: seconds,
        rateLimit: { limit, remaining, resetAtMs: Math.ceil(resetAtMs) },
      });
    };
    const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent_streams: open } = limits;
    if (requests > 0 || tokens > 0) {
      const [asked = 0, used = 0] = counts.sums(nowMs);
      if (requests > 0 && asked >= requests) {
        refuse('requests_per_minute', 'requests a minute', 0, counts.freeAt(REQUESTS, requests, nowMs));
      }
      if (tokens > 0 && used >= tokens) {
        refuse('tokens_per_minute', 'tokens a minute', 0, counts.freeAt(TOKENS, tokens, nowMs));
      }
    }
    if (isStream && open > 0 && streams >= open) refuse('concurrent_streams', 'streams at a time', 0, nowMs + 1000);
  }
}

interface Window {
  counts: RollingCounts;
  streams: number;
}

const isLimited = (limits: Limits): boolean =>
  limits.requests_per_minute > 0 || limits.tokens_per_minute > 0 || limits.concurrent_streams > 0;

/** One `*`, any text; case does not matter. */
function matches(pattern: string, model: string): boolean {
  const lower = pattern.toLowerCase();
  const slug = model.toLowerCase();
  const star = lower.indexOf('*');
  if (star === -1) return slug === lower;
  const [before, after] = [lower.slice(0, star), lower.slice(star + 1)];
  return slug.length >= before.length + after.length && slug.startsWith(before) && slug.endsWith(after);
}
