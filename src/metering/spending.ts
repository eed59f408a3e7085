import { GatewayError } from '../domain/errors.ts';
import { windowStarts } from './windows.ts';

/** Until when a sum is taken together. `lifetime`: for ever. */
export type SpendingWindow = 'daily' | 'weekly' | 'monthly' | 'lifetime';

/** Who may spend how much. */
export interface SpendingLimit {
  scope: SpendingScope;
  window: SpendingWindow;
  limitNanoUsd: bigint;
  /** For messages: `The key app`, `The workspace main`. */
  name: string;
  /** Does what own provider keys cost count as well? The same for all limits of a scope. */
  includesByok: boolean;
}

export type SpendingScope = { keyHash: string } | { workspaceId: string };

export interface SpendingParts {
  /** What was spent since each of the times, in nano-dollars; everything that was booked so far included. */
  read: (scope: SpendingScope, includesByok: boolean, ...sinceMs: number[]) => Promise<bigint[]>;
  /** The limits as they are now. */
  listLimits: () => Promise<SpendingLimit[]>;
  onTrouble: (error: unknown) => void;
  now?: () => number;
  refreshMs?: number;
}

/** What a request may cost at most, in nano-dollars. */
export interface Estimate {
  /** At the dearest of all endpoints, those of own keys included. */
  nanoUsd: bigint;
  /** At the dearest that is no own key; undefined when all of them are. */
  sharedNanoUsd: bigint | undefined;
}

/** What a request may cost at most, held back until it is over. */
export interface Reservation {
  /** Gives back what was held; what was really spent is told by `book`. */
  release(): void;
}

const windows: readonly SpendingWindow[] = ['lifetime', 'monthly', 'weekly', 'daily'];
const REFRESH_MS = 10_000;

/**
 * Holds keys and workspaces to what they may spend, from memory: sums are read from the ledger when a limit is first
 * seen, grow with every entry that is booked, and are read again now and then, so that several hosts on one database see
 * one another's spending. Requests that are under way hold back what they may cost at most, so that many at once go over
 * a limit by no more than one of them.
 */
export class Spending {
  private readonly parts: SpendingParts;
  private readonly now: () => number;
  private accounts = new Map<string, Account>();
  private timer: NodeJS.Timeout | undefined;
  private troubled = false;
  private closed = false;

  constructor(parts: SpendingParts) {
    this.parts = parts;
    this.now = parts.now ?? Date.now;
  }

  /** Reads limits and sums; afterwards by itself, every ten seconds. @throws the store's error */
  async open(): Promise<void> {
    await this.refresh();
    this.schedule();
  }

  /** Reads limits and sums anew. @throws the store's error; the last ones then stay */
  async refresh(): Promise<void> {
    const limits = Map.groupBy(await this.parts.listLimits(), ({ scope }) => keyOf(scope));
    const accounts = new Map<string, Account>();
    for (const [key, own] of limits) {
      const account = this.accounts.get(key) ?? new Account(own[0]!.scope);
      account.limits = own;
      accounts.set(key, account);
      await this.read(account);
    }
    this.accounts = accounts;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /**
   * Holds back what a request may cost. Where own keys do not count, a request that can go nowhere else is not looked at.
   *
   * @returns undefined when nobody limits it
   * @throws {GatewayError} `payment_required` for a key, `permission_denied` for a workspace, naming the broadest limit that
   *   is reached and when it is free again
   * @see platform.md section 6
   */
  reserve(keyHash: string, workspaceId: string, { nanoUsd, sharedNanoUsd }: Estimate): Reservation | undefined {
    const held = [keyOf({ keyHash }), keyOf({ workspaceId })].flatMap((key) => {
      const account = this.accounts.get(key);
      const amount = account?.includesByok ? nanoUsd : sharedNanoUsd;
      return account && amount !== undefined ? [{ account, amount }] : [];
    });
    if (held.length === 0) return undefined;
    const nowMs = this.now();
    for (const { account, amount } of held) account.check(amount, nowMs);
    for (const { account, amount } of held) account.reserved += amount;
    return {
      release: () => {
        for (const { account, amount } of held) account.reserved -= amount;
      },
    };
  }

  /** Is anything limited for these two? */
  limits(keyHash: string, workspaceId: string): boolean {
    if (this.accounts.size === 0) return false;
    return this.accounts.has(keyOf({ keyHash })) || this.accounts.has(keyOf({ workspaceId }));
  }

  /** Adds what was spent. */
  book(keyHash: string, workspaceId: string, nanoUsd: bigint, isByok = false): void {
    if (this.accounts.size === 0 || nanoUsd === 0n) return;
    const nowMs = this.now();
    for (const key of [keyOf({ keyHash }), keyOf({ workspaceId })]) {
      const account = this.accounts.get(key);
      if (account && (!isByok || account.includesByok)) account.add(nanoUsd, nowMs);
    }
  }

  /** What was booked while the store was read may or may not be in the sums: then they are read once more. */
  private async read(account: Account): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      const { version } = account;
      const nowMs = this.now();
      const starts = startsOf(nowMs);
      const sums = await this.parts.read(
        account.scope,
        account.includesByok,
        ...windows.map((window) => starts[window]),
      );
      const isQuiet = account.version === version;
      if (!isQuiet && account.isRead) continue; // what memory holds is newer
      account.set(sums, nowMs);
      if (isQuiet) return;
    }
  }

  private schedule(): void {
    this.timer = setTimeout(async () => {
      try {
        await this.refresh();
        this.troubled = false;
      } catch (error) {
        if (!this.troubled && !this.closed) this.parts.onTrouble(error);
        this.troubled = true;
      }
      if (!this.closed) this.schedule();
    }, this.parts.refreshMs ?? REFRESH_MS);
    this.timer.unref();
  }
}

/** What one key or workspace has spent in each window. */
class Account {
  readonly scope: SpendingScope;
  limits: readonly SpendingLimit[] = [];
  reserved = 0n;
  /** Grows with every entry. */
  version = 0;
  isRead = false;
  private sums: Record<SpendingWindow, bigint> = { lifetime: 0n, monthly: 0n, weekly: 0n, daily: 0n };
  private starts = startsOf(0);

  constructor(scope: SpendingScope) {
    this.scope = scope;
  }

  get includesByok(): boolean {
    return this.limits[0]?.includesByok === true;
  }

  /** @param sums in the order of `windows` */
  set(sums: readonly bigint[], nowMs: number): void {
    this.starts = startsOf(nowMs);
    for (const [index, window] of windows.entries()) this.sums[window] = sums[index]!;
    this.isRead = true;
  }

  add(nanoUsd: bigint, nowMs: number): void {
    this.roll(nowMs);
    this.version++;
    for (const window of windows) this.sums[window] += nanoUsd;
  }

  /** The broadest window first. */
  check(nanoUsd: bigint, nowMs: number): void {
    this.roll(nowMs);
    for (const window of windows) {
      const limit = this.limits.find((each) => each.window === window);
      if (!limit) continue;
      const spent = this.sums[window];
      if (spent < limit.limitNanoUsd && spent + this.reserved + nanoUsd <= limit.limitNanoUsd) continue;
      throw refusal(limit, spent, this.reserved, nowMs);
    }
  }

  private roll(nowMs: number): void {
    const starts = startsOf(nowMs);
    for (const window of windows) {
      if (starts[window] === this.starts[window]) continue;
      this.sums[window] = 0n;
      this.starts[window] = starts[window];
    }
  }
}

const startsOf = (nowMs: number): Record<SpendingWindow, number> => ({ ...windowStarts(nowMs), lifetime: 0 });

const keyOf = (scope: SpendingScope): string => ('keyHash' in scope ? `k ${scope.keyHash}` : `w ${scope.workspaceId}`);

const dollars = (nanoUsd: bigint): string => `${Number(nanoUsd) / 1e9} USD`;

function refusal(limit: SpendingLimit, spent: bigint, reserved: bigint, nowMs: number): GatewayError {
  const { name, window, limitNanoUsd, scope } = limit;
  const span = { lifetime: 'in all', monthly: 'a month', weekly: 'a week', daily: 'a day' }[window];
  const held = reserved > 0n ? `, and ${dollars(reserved)} is held for requests that are under way` : '';
  const until = window === 'lifetime' ? '' : ` It begins anew on ${new Date(endOf(window, nowMs)).toISOString()}.`;
  const message = `${name} may spend ${dollars(limitNanoUsd)} ${span} and has spent ${dollars(spent)}${held}; this request may not fit.${until}`;
  const isKey = 'keyHash' in scope;
  const isExhausted = spent >= limitNanoUsd;
  return new GatewayError(isKey ? 'payment_required' : 'permission_denied', message, {
    metadata: {
      limit_source: isExhausted ? (isKey ? 'router_key_limit' : 'workspace_budget') : 'router_in_flight_budget',
      interval: window,
      ...(isExhausted ? undefined : { reason: 'in_flight_budget_exhausted' }),
    },
  });
}

/** When the window that is open now ends. */
function endOf(window: Exclude<SpendingWindow, 'lifetime'>, nowMs: number): number {
  const start = windowStarts(nowMs)[window];
  if (window === 'daily') return start + 86_400_000;
  if (window === 'weekly') return start + 7 * 86_400_000;
  const date = new Date(start);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
