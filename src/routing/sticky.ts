import { hash } from 'node:crypto';
import type { ResponseRequest } from '../domain/request.ts';

/** The key of a conversation. @see docs/reference/routing.md#sessions */
export interface SessionKey {
  key: string;
  /** Whether the caller named it. If not, it is derived from the first messages. */
  isExplicit: boolean;
}

/** A session as processes share it. */
export interface SharedSession {
  /** Workspace, slug and session in one. */
  scope: string;
  endpoint: string;
  model: string;
  isExplicit: boolean;
}

interface Remembered {
  endpoint: string;
  /** The model that a router chose, stored under the router's slug. */
  model: string;
  atMs: number;
  isExplicit: boolean;
}

/** Maximum remembered sessions. The least recent are forgotten first. */
const MAX_SESSIONS = 100_000;

/** Remembers the endpoint of each session, by workspace, slug and session. In memory. */
export class StickyMemory {
  /** Called for each remembered session, to share it with other processes. @see share-memory.ts */
  onSession: ((session: SharedSession) => void) | undefined;
  /** Least recent first. */
  private readonly remembered = new Map<string, Remembered>();
  private readonly lifetimeMs: () => number;
  private readonly now: () => number;
  private derived = 0;
  private lastDerivedAtMs = Number.NEGATIVE_INFINITY;

  constructor(lifetimeMs: () => number, now: () => number = Date.now) {
    this.lifetimeMs = lifetimeMs;
    this.now = now;
  }

  /** Whether a derived key could match. Cheaper than deriving one. */
  get mayKnowDerived(): boolean {
    return this.derived > 0 && this.now() - this.lastDerivedAtMs < this.lifetimeMs();
  }

  find(workspaceId: string, slug: string, { key }: SessionKey): Readonly<Remembered> | undefined {
    const scope = scopeOf(workspaceId, slug, key);
    const known = this.remembered.get(scope);
    if (!known) return undefined;
    if (this.now() - known.atMs < this.lifetimeMs()) return known;
    this.forget(scope, known);
    return undefined;
  }

  /** Called after a success. Each starts the lifetime over. */
  remember(workspaceId: string, slug: string, session: SessionKey, endpoint: string, model: string): void {
    if (this.lifetimeMs() === 0) return;
    const shared = { scope: scopeOf(workspaceId, slug, session.key), endpoint, model, isExplicit: session.isExplicit };
    this.learn(shared);
    this.onSession?.(shared);
  }

  /** Remembers a session of another process. */
  learn({ scope, endpoint, model, isExplicit }: SharedSession): void {
    const before = this.remembered.get(scope);
    if (before) this.forget(scope, before);
    this.remembered.set(scope, { endpoint, model, atMs: this.now(), isExplicit });
    if (!isExplicit) {
      this.derived++;
      this.lastDerivedAtMs = this.now();
    }
    if (this.remembered.size <= MAX_SESSIONS) return;
    const [oldest] = this.remembered;
    this.forget(...oldest!);
  }

  get size(): number {
    return this.remembered.size;
  }

  private forget(scope: string, { isExplicit }: Remembered): void {
    this.remembered.delete(scope);
    if (!isExplicit) this.derived--;
  }
}

/** Hashes long keys, which bounds the memory. JSON keeps different scopes distinct. */
const scopeOf = (workspaceId: string, slug: string, key: string): string =>
  JSON.stringify([workspaceId, slug, key.length > MAX_PLAIN_KEY ? hash('sha256', key, 'base64url') : key]);

const MAX_PLAIN_KEY = 100;

/** Returns the caller's key: `session_id` (from the body or the header), or `prompt_cache_key`. */
export function findSessionKey({ session_id, prompt_cache_key }: ResponseRequest): SessionKey | undefined {
  const given = session_id ?? prompt_cache_key;
  if (given) return { key: session_id ? `s:${session_id}` : `c:${given}`, isExplicit: true };
  return undefined;
}

/** Derives a key from the first system or developer message and the first other message. */
export function deriveSessionKey({
  input,
  instructions,
}: Pick<ResponseRequest, 'input' | 'instructions'>): SessionKey | undefined {
  const messages = input.filter((item) => item.type === 'message') as { role?: string; content?: unknown }[];
  const isSystem = ({ role }: { role?: string }) => role === 'system' || role === 'developer';
  const system = instructions ?? messages.find(isSystem)?.content;
  const first = messages.find((message) => !isSystem(message))?.content;
  if (first === undefined) return undefined;
  return { key: `d:${hash('sha256', JSON.stringify([system ?? null, first]), 'base64url')}`, isExplicit: false };
}

/** The session of one request. Its key is computed lazily. */
export class Session {
  private readonly request: ResponseRequest;
  private readonly workspaceId: string;
  private readonly memory: StickyMemory;
  private found: SessionKey | undefined;
  private isKnown = false;

  constructor(request: ResponseRequest, workspaceId: string, memory: StickyMemory) {
    this.request = request;
    this.workspaceId = workspaceId;
    this.memory = memory;
  }

  /** The caller's key, or a derived key if one could match. */
  get key(): SessionKey | undefined {
    if (!this.isKnown) {
      this.isKnown = true;
      this.found = findSessionKey(this.request);
      if (!this.found && this.memory.mayKnowDerived) this.found = deriveSessionKey(this.request);
    }
    return this.found;
  }

  /** Returns the remembered endpoint. `provider.order` disables it. */
  find(slug: string): { endpoint: string; model: string } | undefined {
    const provider = this.request.provider as { order?: readonly unknown[] | null } | null | undefined;
    if ((provider?.order?.length ?? 0) > 0 || !this.key) return undefined;
    return this.memory.find(this.workspaceId, slug, this.key);
  }
}
