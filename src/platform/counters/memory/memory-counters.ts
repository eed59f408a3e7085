import { currentTimeMs } from '../../../domain/clock.ts';
import { type AccountState, addSpent, findBudgetRefusal, openAccount, updateAccount } from '../accounts.ts';
import type {
  Admission,
  BudgetRefusal,
  Claim,
  Counters,
  AdmissionOutcome,
  RateDecision,
  Reservation,
  Settlement,
} from '../counters.ts';
import { admitTo, leaveFrom, RateWindow } from '../rates.ts';

/** Maximum number of keys, workspaces and models. Beyond it, the least recent one is removed. 1 KB each. */
const MAX_SCOPES = 50_000;
/**
 * Number of accounts that are always kept. Beyond it, each new account removes others that are not needed. 1 KB each.
 */
const KEPT_ACCOUNTS = 10_000;
/** Maximum delay until a worker reads what another one has settled. Journals are stored every tenth of a second. */
const STORED_MS = 60_000;

interface HeldAccount extends AccountState {
  /** Reservation → its amount; the oldest first. */
  readonly holds: Map<string, { nanoUsd: bigint; expiresAtMs: number }>;
  /** Time of the last settlement. */
  settledAtMs: number;
}

/**
 * Counts in this process, and returns at once. After a restart, rates start over, and sums are those of the ledger.
 *
 * Removes an account only if nothing is reserved in it and the sums of the ledger contain all settled amounts. The next
 * claim restores these sums. Elapsed time proves nothing, because the store may be unreachable for long. The check
 * therefore uses the times at which the sums in claims were read. It uses the oldest time of the last minutes, because
 * each worker reads the sums separately. While the store is unreachable, no process reads sums, so no account is
 * removed. New limits, which would need new accounts, are not read during that time, either.
 */
export class MemoryCounters implements Counters {
  private readonly now: () => number;
  /** Ordered from the least recently used one, if there are too many. */
  private readonly windows = new Map<string, RateWindow>();
  private readonly accounts = new Map<string, HeldAccount>();
  private readonly keptAccounts: number;
  private readonly readings = new OldestReading();
  /** Iterates over the accounts, two for each new one, so that no request checks all of them. */
  private round: Iterator<[string, HeldAccount]> = this.accounts.entries();

  constructor(now: () => number = currentTimeMs, keptAccounts = KEPT_ACCOUNTS) {
    this.now = now;
    this.keptAccounts = keptAccounts;
  }

  /** Number of accounts in memory. */
  get accountCount(): number {
    return this.accounts.size;
  }

  admit(admission: Admission): RateDecision {
    return admitTo(this.windowsOf(admission), admission, this.now());
  }

  leave(admission: Admission, outcome: AdmissionOutcome): void {
    leaveFrom(this.windowsOf(admission), admission, outcome, this.now());
  }

  reserve(reservation: Reservation): BudgetRefusal | undefined {
    const nowMs = this.now();
    const accounts = reservation.claims.map((claim) => {
      const account = this.accountOf(claim, nowMs);
      releaseExpired(account, nowMs);
      updateAccount(account, claim, nowMs);
      return account;
    });
    const refusal = findBudgetRefusal(accounts, reservation.claims);
    if (!refusal) hold(accounts, reservation, nowMs);
    return refusal;
  }

  settle({ id, claims }: Reservation, settlement: Settlement): void {
    const nowMs = this.now();
    for (const [index, { account: name }] of claims.entries()) {
      const account = this.accounts.get(name);
      const held = account?.holds.get(id);
      if (!account || !held) continue;
      account.holds.delete(id);
      account.reservedNanoUsd -= held.nanoUsd;
      account.settledAtMs = nowMs;
      addSpent(account, settlement.costsNanoUsd[index]!, settlement);
    }
  }

  /** Adds a reservation that the store has, so that this memory can replace the store. */
  adopt(reservation: Reservation): void {
    const nowMs = this.now();
    const accounts = reservation.claims.map((claim) => {
      const account = this.accountOf(claim, nowMs);
      updateAccount(account, claim, nowMs);
      return account;
    });
    hold(accounts, reservation, nowMs);
  }

  ping(): void {}

  async close(): Promise<void> {}

  private windowsOf({ scopes }: Admission): RateWindow[] {
    return scopes.map(({ id }) => {
      const known = this.windows.get(id);
      if (known && this.windows.size < MAX_SCOPES) return known;
      const window = known ?? new RateWindow();
      this.windows.delete(id); // added again below, as the most recent
      this.windows.set(id, window);
      if (this.windows.size > MAX_SCOPES) this.windows.delete(this.windows.keys().next().value!);
      return window;
    });
  }

  private accountOf({ account: name, readAtMs }: Claim, nowMs: number): HeldAccount {
    this.readings.note(readAtMs, nowMs);
    let account = this.accounts.get(name);
    if (!account) {
      if (this.accounts.size >= this.keptAccounts) this.forgetAccounts(nowMs);
      account = { ...openAccount(), holds: new Map(), settledAtMs: 0 };
      this.accounts.set(name, account);
    }
    return account;
  }

  private forgetAccounts(nowMs: number): void {
    for (let looked = 0; looked < 2; looked++) {
      let next = this.round.next();
      if (next.done) {
        this.round = this.accounts.entries();
        next = this.round.next();
        if (next.done) return;
      }
      const [name, account] = next.value;
      releaseExpired(account, nowMs);
      if (account.holds.size === 0 && account.settledAtMs + STORED_MS < this.readings.oldestMs) {
        this.accounts.delete(name);
      }
    }
  }
}

/** The time at which the oldest sums in the claims of the last one or two minutes were read. */
class OldestReading {
  private before = 0;
  private current = 0;
  private endsAtMs = 0;

  note(readAtMs: number, nowMs: number): void {
    if (nowMs >= this.endsAtMs) {
      this.before = this.current;
      this.current = readAtMs;
      this.endsAtMs = nowMs + STORED_MS;
    } else if (readAtMs < this.current) {
      this.current = readAtMs;
    }
  }

  get oldestMs(): number {
    return Math.min(this.before, this.current);
  }
}

function hold(accounts: readonly HeldAccount[], { id, claims, reservationMs }: Reservation, nowMs: number): void {
  for (const [index, account] of accounts.entries()) {
    const { nanoUsd } = claims[index]!;
    const count = account.holds.size;
    account.holds.set(id, { nanoUsd, expiresAtMs: nowMs + reservationMs });
    if (account.holds.size > count) account.reservedNanoUsd += nanoUsd;
  }
}

function releaseExpired(account: HeldAccount, nowMs: number): void {
  for (const [id, { nanoUsd, expiresAtMs }] of account.holds) {
    if (expiresAtMs > nowMs) return;
    account.holds.delete(id);
    account.reservedNanoUsd -= nanoUsd;
  }
}
