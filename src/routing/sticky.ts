import { hash } from 'node:crypto';
import type { ResponseRequest } from '../domain/request.ts';

/** How a request says which conversation it belongs to. @see docs/reference/routing.md#sessions */
export interface SessionKey {
  key: string;
  /** The caller named it; else it was made of the first messages. */
  isExplicit: boolean;
}

/** A session as processes tell one another. */
export interface SharedSession {
  /** Workspace, slug and session in one. */
  scope: string;
  endpoint: string;
  model: string;
  isExplicit: boolean;
}

interface Remembered {
  endpoint: string;
  /** The model that a router chose, under the router's slug. */
  model: string;
  atMs: number;
  isExplicit: boolean;
}

/** The most conversations that are remembered; beyond it the least recent are forgotten. */
const MOST = 100_000;

/** Which endpoint a session went to, by workspace, slug and session. In memory. */
export class StickyMemory {
  /** Told of what is remembered here, where others shall know it. @see share-memory.ts */
  onSession: ((session: SharedSession) => void) | undefined;
  /** The least recent first. */
  private readonly remembered = new Map<string, Remembered>();
  private readonly lifetimeMs: () => number;
  private readonly now: () => number;
  private derived = 0;
  private lastDerivedAtMs = Number.NEGATIVE_INFINITY;

  constructor(lifetimeMs: () => number, now: () => number = Date.now) {
    this.lifetimeMs = lifetimeMs;
    this.now = now;
  }

  /** Could a key that is made of messages find something? Making one costs more than asking this. */
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

  /** After a success; each starts the lifetime anew. */
  remember(workspaceId: string, slug: string, session: SessionKey, endpoint: string, model: string): void {
    if (this.lifetimeMs() === 0) return;
    const shared = { scope: scopeOf(workspaceId, slug, session.key), endpoint, model, isExplicit: session.isExplicit };
    this.learn(shared);
    this.onSession?.(shared);
  }

  /** Remembers what another process has told. */
  learn({ scope, endpoint, model, isExplicit }: SharedSession): void {
    const before = this.remembered.get(scope);
    if (before) this.forget(scope, before);
    this.remembered.set(scope, { endpoint, model, atMs: this.now(), isExplicit });
    if (!isExplicit) {
      this.derived++;
      this.lastDerivedAtMs = this.now();
    }
    if (this.remembered.size <= MOST) return;
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

/** What callers write is hashed when it is long: neither can two scopes be one, nor can their length fill the memory. */
const scopeOf = (workspaceId: string, slug: string, key: string): string =>
  JSON.stringify([workspaceId, slug, key.length > LONGEST_KEY ? hash('sha256', key, 'base64url') : key]);

const LONGEST_KEY = 100;

/** The key that the caller gave: `session_id` (the header is settled into it), or `prompt_cache_key`. */
export function findSessionKey({ session_id, prompt_cache_key }: ResponseRequest): SessionKey | undefined {
  const given = session_id ?? prompt_cache_key;
  if (given) return { key: session_id ? `s:${session_id}` : `c:${given}`, isExplicit: true };
  return undefined;
}

/** A key of what a conversation begins with: the first system or developer message, and the first other one. */
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

/** The memory of one request's conversation, made out only when somebody asks. */
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

  /** The key that the caller gave, or one made of the first messages, where that could be remembered. */
  get key(): SessionKey | undefined {
    if (!this.isKnown) {
      this.isKnown = true;
      this.found = findSessionKey(this.request);
      if (!this.found && this.memory.mayKnowDerived) this.found = deriveSessionKey(this.request);
    }
    return this.found;
  }

  /** `provider.order` leaves nothing to memory. */
  find(slug: string): { endpoint: string; model: string } | undefined {
    const provider = this.request.provider as { order?: readonly unknown[] | null } | null | undefined;
    if ((provider?.order?.length ?? 0) > 0 || !this.key) return undefined;
    return this.memory.find(this.workspaceId, slug, this.key);
  }
}
