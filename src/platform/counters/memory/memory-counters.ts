import { type AccountState, addSpent, findBudgetRefusal, openAccount, updateAccount } from '../accounts.ts';
import type { Admission, BudgetRefusal, Counters, RateRefusal, Reservation, Settlement } from '../counters.ts';
import { admitTo, leaveFrom, RateWindow } from '../rates.ts';

/** Keys, workspaces and models that are counted at once; beyond it the least recent is forgotten. 1 KB each. */
const MOST_SCOPES = 50_000;

interface HeldAccount extends AccountState {
  /** Reservation → what is held for it; the oldest first. */
  readonly holds: Map<string, { nanoUsd: bigint; expiresAtMs: number }>;
}

/** Counts in this process, and answers at once. After a restart rates begin anew, and sums are those of the ledger. */
export class MemoryCounters implements Counters {
  private readonly now: () => number;
  /** The least recent first, once there are too many. */
  private readonly windows = new Map<string, RateWindow>();
  private readonly accounts = new Map<string, HeldAccount>();

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  admit(admission: Admission): RateRefusal | undefined {
    return admitTo(this.windowsOf(admission), admission, this.now());
  }

  leave(admission: Admission, tokens: number, isTakenBack = false): void {
    leaveFrom(this.windowsOf(admission), admission, { tokens, isTakenBack }, this.now());
  }

  reserve(reservation: Reservation): BudgetRefusal | undefined {
    const nowMs = this.now();
    const accounts = reservation.claims.map((claim) => {
      const account = this.accountOf(claim.account);
      releaseExpired(account, nowMs);
      updateAccount(account, claim);
      return account;
    });
    const refusal = findBudgetRefusal(accounts, reservation.claims);
    if (!refusal) hold(accounts, reservation, nowMs);
    return refusal;
  }

  settle({ id, claims }: Reservation, settlement: Settlement): void {
    for (const [index, { account: name }] of claims.entries()) {
      const account = this.accountOf(name);
      const held = account.holds.get(id);
      if (!held) continue;
      account.holds.delete(id);
      account.heldNanoUsd -= held.nanoUsd;
      addSpent(account, settlement.costsNanoUsd[index]!, settlement);
    }
  }

  /** Holds what was reserved elsewhere, so that this memory can stand in. */
  adopt(reservation: Reservation): void {
    const accounts = reservation.claims.map((claim) => {
      const account = this.accountOf(claim.account);
      updateAccount(account, claim);
      return account;
    });
    hold(accounts, reservation, this.now());
  }

  ping(): void {}

  async close(): Promise<void> {}

  private windowsOf({ scopes }: Admission): RateWindow[] {
    return scopes.map(({ id }) => {
      const known = this.windows.get(id);
      if (known && this.windows.size < MOST_SCOPES) return known;
      const window = known ?? new RateWindow();
      this.windows.delete(id); // it is set anew, as the most recent
      this.windows.set(id, window);
      if (this.windows.size > MOST_SCOPES) this.windows.delete(this.windows.keys().next().value!);
      return window;
    });
  }

  private accountOf(name: string): HeldAccount {
    let account = this.accounts.get(name);
    if (!account) {
      account = { ...openAccount(), holds: new Map() };
      this.accounts.set(name, account);
    }
    return account;
  }
}

function hold(accounts: readonly HeldAccount[], { id, claims, holdMs }: Reservation, nowMs: number): void {
  for (const [index, account] of accounts.entries()) {
    const { nanoUsd } = claims[index]!;
    account.holds.set(id, { nanoUsd, expiresAtMs: nowMs + holdMs });
    account.heldNanoUsd += nanoUsd;
  }
}

function releaseExpired(account: HeldAccount, nowMs: number): void {
  for (const [id, { nanoUsd, expiresAtMs }] of account.holds) {
    if (expiresAtMs > nowMs) return;
    account.holds.delete(id);
    account.heldNanoUsd -= nanoUsd;
  }
}
