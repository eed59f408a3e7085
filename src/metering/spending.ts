import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { type SpendingWindow, spendingWindows } from '../platform/counters/accounts.ts';
import type { AccountLimit, BudgetRefusal, Claim, Counters, Reservation } from '../platform/counters/counters.ts';
import type { SpendingScope, SpendingSums } from '../platform/storage/ports/spending.ts';
import { createSpendingRefusal, formatDollars } from './refuse-spending.ts';
import { DAY_MS, windowStarts } from './windows.ts';

/** Who may spend how much. */
export interface SpendingLimit {
  /** `credits`: what was paid in, for the organization as a whole. */
  kind: 'key' | 'member' | 'guardrail' | 'workspace' | 'organization' | 'credits';
  scope: SpendingScope;
  window: SpendingWindow;
  limitNanoUsd: bigint;
  /** For messages: `The key app`, `The workspace main`. */
  name: string;
  /** By whose word, where that is a guardrail. @see domain/guardrail.ts, `titleOf` */
  guardrail?: { id: string; title: string };
  /** Does what own provider keys cost count as well? */
  includesByok: boolean;
}

export interface SpendingParts {
  counters: Pick<Counters, 'reserve' | 'settle' | 'release'>;
  /** Puts into the store what was booked so far. */
  flush: () => Promise<void>;
  /** What the store says that each of the scopes has spent since each of the times. */
  read: (scopes: readonly SpendingScope[], sinceMs: readonly number[]) => Promise<SpendingSums[]>;
  /** How often corrections of the ledger made these sums smaller. */
  readReductions: () => Promise<number>;
  /** The limits as they are now. */
  listLimits: () => Promise<SpendingLimit[]>;
  /** The longest that a request may take. */
  requestMs: () => number;
  onTrouble: (error: unknown) => void;
  /** Told of every refusal, for metrics: whose limit it was, and of which window. */
  onHit?: (kind: SpendingLimit['kind'], window: SpendingWindow) => void;
  now?: () => number;
  refreshMs?: number;
}

/** What a request may cost at most, in nano-dollars. */
export interface Estimate {
  /** At the dearest of all endpoints, those of own keys included. */
  nanoUsd: bigint;
  /** At the dearest that is no own key; undefined when all of them are. */
  sharedNanoUsd: bigint | undefined;
  /** What one of these sums was made of, for who is refused. */
  describe?(nanoUsd: bigint): string | undefined;
}

/** A part of what a request has cost. */
type SpentPart = Pick<LedgerEntry, 'costNanoUsd' | 'isByok'>;

/** What a request may cost at most, held back until it is over. */
export interface CostReservation {
  /**
   * Holds what attempts have cost that broke off, so that what was held at first is there for the next one.
   *
   * @param broken all of them so far
   * @returns a promise only where it is held elsewhere
   * @throws {GatewayError} as `reserve` does: the next one must not go out
   */
  raise(broken: readonly SpentPart[]): MaybePromise<void>;
  /** Puts what was really spent in the place of what was held. */
  settle(entry: LedgerEntry): void;
}

const REFRESH_MS = 10_000;
/** The id of a further reservation of a request. @see platform/counters/counters.ts */
const nameRaise = (id: string, number: number): string => `${id}.${number}`;
/** A hold outlives the deadline of its request by no more than this. */
const HOLD_MARGIN_MS = 60_000;

/**
 * Holds keys, members, workspaces and the organization to what they may spend. Every request holds back what it may cost
 * at most, in all of its accounts or in none, so that many at once go over a limit by no more than the difference between
 * what one of them costs and what was held for it.
 *
 * What is held passes into what was spent in one step of the counters, and the ledger's sums, read at the start and every
 * ten seconds, bring what the counters may have lost: there is no moment at which a cost is seen in neither of them. A
 * cost is never in both, since of the two sums the greater counts. @see platform/counters/accounts.ts
 */
export class Spending {
  private readonly parts: SpendingParts;
  private readonly now: () => number;
  /** By scope: one that counts own keys, one that does not, or both. */
  private accounts = new Map<string, Account[]>();
  /** By name. */
  private accountsByName = new Map<string, Account>();
  /** By name: accounts whose sums are being read. */
  private readonly rereading = new Map<string, Promise<void>>();
  /** By key: those that hold for it. */
  private readonly accountsOfKeys = new Map<string, { payers: Payers; accounts: readonly Account[] }>();
  private started = 0;
  private taken = 0;
  private timer: NodeJS.Timeout | undefined;
  private troubled = false;
  private closed = false;

  constructor(parts: SpendingParts) {
    this.parts = parts;
    this.now = parts.now ?? currentTimeMs;
  }

  /** Reads limits and sums; afterwards by itself, every ten seconds. @throws the store's error */
  async open(): Promise<void> {
    await this.refresh();
    this.schedule();
  }

  /** Reads limits and sums anew. @throws the store's error; the last ones then stay */
  async refresh(): Promise<void> {
    await this.take(() => undefined);
  }

  /** Reads limits anew, and sums where there was no limit before: soon done, however many there are. @throws the same */
  async refreshLimits(): Promise<void> {
    const known = new Map([...this.accounts.values()].flat().map((account) => [account.name, account.sums]));
    await this.take((name) => known.get(name));
  }

  private async take(findSums: (account: string) => Sums | undefined): Promise<void> {
    const turn = ++this.started;
    const limits = await this.parts.listLimits();
    // Before the sums: one that was read too high must not be the first of a new count.
    const reductions = limits.length > 0 ? await this.parts.readReductions() : 0;
    const found = [...Map.groupBy(limits, nameOfAccount)].map(([scopeName, own]): Found => {
      const name = reductions > 0 ? `${scopeName} ${reductions}` : scopeName;
      const isForLife = own.some(({ window }) => window === 'lifetime');
      const sums = findSums(name);
      return { name, own, isForLife, sums: isForLife && !sums?.isForLife ? undefined : sums };
    });
    const unread = found.filter(({ sums }) => !sums);
    const readAtMs = this.now();
    if (unread.length > 0) await this.parts.flush();
    // Years of every key are read for those alone that are limited for life.
    for (const [isForLife, those] of Map.groupBy(unread, (each) => each.isForLife)) {
      await this.read(those, isForLife, readAtMs);
    }
    const accounts = found.map(({ name, own, sums }) => new Account(name, own, sums!)); // each was read
    if (turn < this.taken) return; // a later reading was faster: this one is old
    this.taken = turn;
    this.accountsByName = new Map(accounts.map((account) => [account.name, account]));
    this.accounts = Map.groupBy(accounts, (account) => nameOf(account.limits[0]!.scope));
    this.accountsOfKeys.clear();
  }

  /** Stores what was booked so far, and reads the sums of the accounts of a reservation. @throws the store's error */
  async refreshFor({ claims }: Pick<Reservation, 'claims'>): Promise<void> {
    const names = claims.map(({ account }) => account);
    const reading = this.reread(names.filter((name) => !this.rereading.has(name)));
    await Promise.all([reading, ...names.map((name) => this.rereading.get(name))]);
  }

  private reread(names: readonly string[]): Promise<void> {
    const reading = this.readAgain(names).finally(() => {
      for (const name of names) this.rereading.delete(name);
    });
    for (const name of names) this.rereading.set(name, reading);
    return reading;
  }

  private async readAgain(names: readonly string[]): Promise<void> {
    const found = names.flatMap((name): Found[] => {
      const account = this.accountsByName.get(name);
      if (!account) return []; // its limits are gone
      return [{ name, own: account.limits, isForLife: account.sums.isForLife, sums: undefined }];
    });
    if (found.length === 0) return;
    const readAtMs = this.now();
    await this.parts.flush();
    for (const [isForLife, those] of Map.groupBy(found, (each) => each.isForLife)) {
      await this.read(those, isForLife, readAtMs);
    }
    for (const { name, sums } of found) {
      const account = this.accountsByName.get(name);
      if (account && sums) account.sums = sums;
    }
  }

  /** Claims with the sums that were read last. */
  update(claims: readonly Claim[]): Claim[] {
    const nowMs = this.now();
    return claims.map((claim) => {
      const account = this.accountsByName.get(claim.account);
      return account ? { ...account.claim(claim.nanoUsd, nowMs), limits: claim.limits } : claim;
    });
  }

  /** Sets the sums of these, all at once. */
  private async read(those: readonly Found[], isForLife: boolean, readAtMs: number): Promise<void> {
    const startsMs = startsOf(this.now());
    const [, ...windows] = startsMs;
    const sinceMs = isForLife ? startsMs : [Math.min(...windows), ...windows];
    const spent = await this.parts.read(
      those.map(({ own }) => own[0]!.scope),
      sinceMs,
    );
    for (const [at, each] of those.entries()) {
      const { costNanoUsd, byokNanoUsd } = spent[at]!;
      const { includesByok } = each.own[0]!;
      const recordedNanoUsd = includesByok
        ? costNanoUsd.map((cost, window) => cost + byokNanoUsd[window]!)
        : costNanoUsd;
      each.sums = { startsMs, recordedNanoUsd, readAtMs, isForLife };
    }
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** Whether a limit applies to all requests: that of the organization, or its credits. */
  get limitsEverything(): boolean {
    return this.accounts.has(nameOf('everything'));
  }

  /** Is anything limited for this caller? */
  limits(caller: Caller): boolean {
    return this.accounts.size > 0 && this.accountsOf(caller).length > 0;
  }

  /**
   * Holds back what a request may cost. Where own keys do not count, a request that can go nowhere else is not looked at.
   *
   * @param id of the generation
   * @returns undefined when nobody limits it; a promise only where it is held elsewhere
   * @throws {GatewayError} `payment_required` for a key, the organization and its credits, `permission_denied` for a member,
   *   a guardrail and a workspace, naming the broadest limit that is reached and when it is free again
   * @see docs/guides/limits.md
   */
  reserve(caller: Caller, id: string, estimate: Estimate): MaybePromise<CostReservation | undefined> {
    const { nanoUsd, sharedNanoUsd } = estimate;
    const nowMs = this.now();
    const accounts: Account[] = [];
    const claims: Claim[] = [];
    for (const account of this.accountsOf(caller)) {
      const amount = account.includesByok ? nanoUsd : sharedNanoUsd;
      if (amount === undefined) continue;
      accounts.push(account);
      claims.push(account.claim(amount, nowMs));
    }
    if (accounts.length === 0) return undefined;
    const reservation = { id, claims, reservationMs: this.parts.requestMs() + HOLD_MARGIN_MS };
    const answer = this.parts.counters.reserve(reservation);
    return answer instanceof Promise
      ? answer.then((refusal) => this.hold(accounts, reservation, refusal, estimate))
      : this.hold(accounts, reservation, answer, estimate);
  }

  private hold(
    accounts: readonly Account[],
    reservation: Reservation,
    refusal: BudgetRefusal | undefined,
    estimate: Estimate,
  ): CostReservation {
    const { counters, onHit } = this.parts;
    if (refusal) {
      const limit = accounts[refusal.claim]!.limits[refusal.limit]!;
      onHit?.(limit.kind, limit.window);
      const { nanoUsd } = reservation.claims[refusal.claim]!;
      const basis = nanoUsd > 0n ? estimate.describe?.(nanoUsd) : undefined;
      const mostCost = `${formatDollars(nanoUsd)}${basis === undefined ? '' : ` (${basis})`}`;
      throw createSpendingRefusal(limit, `this request may cost up to ${mostCost}`, refusal, this.now());
    }
    let raised: Raised | undefined;
    return {
      raise: (broken) => {
        raised ??= new Raised(this.parts, accounts, reservation, this.now);
        return raised.to(broken);
      },
      settle(entry) {
        const { createdAtMs: atMs, lines = [entry] } = entry;
        void counters.settle(reservation, { atMs, costsNanoUsd: accounts.map(sumFor(lines)) });
        raised?.free(atMs);
      },
    };
  }

  /**
   * Frees what was held for requests whose process has ended, and reads the sums that have them.
   *
   * @param ended are in the store
   * @throws the store's error; what was held is then free when its time is over
   */
  async release(ended: readonly Pick<LedgerEntry, 'id' | keyof Payers>[]): Promise<void> {
    const { counters } = this.parts;
    if (!counters.release) return;
    await this.refresh();
    const accounts = new Set(ended.flatMap((entry) => this.accountsOf(entry)));
    if (accounts.size === 0) return;
    const nowMs = this.now();
    await counters.release(
      ended.map(({ id }) => id),
      [...accounts].map((account) => ({ ...account.claim(0n, nowMs), limits: [], isCurrent: true })),
    );
  }

  /** The narrowest first. */
  private accountsOf(payers: Payers): readonly Account[] {
    const { keyHash, memberId, workspaceId } = payers;
    const known = this.accountsOfKeys.get(keyHash);
    if (known?.payers.workspaceId === workspaceId && known.payers.memberId === memberId) return known.accounts;
    const accounts = [
      this.accounts.get(nameOf({ keyHash })),
      memberId === null ? undefined : this.accounts.get(nameOf({ memberId })),
      this.accounts.get(nameOf({ workspaceId })),
      this.accounts.get(nameOf('everything')),
    ].flatMap((found) => found ?? []);
    this.accountsOfKeys.set(keyHash, { payers: { keyHash, memberId, workspaceId }, accounts });
    return accounts;
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

/** Whose limits hold for a request, besides those for all. */
type Payers = Pick<Caller, 'keyHash' | 'memberId' | 'workspaceId'>;

/** What was spent in each window, and when that began, in the order of `spendingWindows`. */
interface Sums extends Pick<Claim, 'startsMs' | 'recordedNanoUsd' | 'readAtMs'> {
  /** Is the sum for life whole? Else it lacks what was spent before the windows that are open. */
  isForLife: boolean;
}

/** An account while its sums are looked for. */
interface Found {
  name: string;
  own: readonly SpendingLimit[];
  isForLife: boolean;
  sums: Sums | undefined;
}

/** The limits of one scope, and what the ledger said last of what it has spent. */
class Account {
  readonly includesByok: boolean;
  /** At the counters. They let sums grow only, so that what became smaller is another sum. */
  readonly name: string;
  readonly limits: readonly SpendingLimit[];
  private readonly accountLimits: readonly AccountLimit[];
  /** What the ledger said last. */
  sums: Sums;

  constructor(name: string, limits: readonly SpendingLimit[], sums: Sums) {
    this.includesByok = limits[0]!.includesByok;
    this.name = name;
    this.limits = limits;
    this.accountLimits = limits.map(({ window, limitNanoUsd: nanoUsd, kind }) => {
      return { window, nanoUsd, isExhaustedWhenReached: kind !== 'credits' };
    });
    this.sums = sums;
  }

  claim(nanoUsd: bigint, nowMs: number): Claim {
    this.roll(nowMs);
    const { startsMs, recordedNanoUsd, readAtMs } = this.sums;
    return { account: this.name, nanoUsd, startsMs, recordedNanoUsd, readAtMs, limits: this.accountLimits };
  }

  /** Of a window that has begun since they were read the sums know nothing. */
  private roll(nowMs: number): void {
    const { startsMs: before, recordedNanoUsd } = this.sums;
    if (nowMs < before.at(-1)! + DAY_MS) return;
    const startsMs = startsOf(nowMs);
    const isOpen = (window: number) => before[window] === startsMs[window];
    this.sums = {
      ...this.sums,
      startsMs,
      recordedNanoUsd: recordedNanoUsd.map((sum, window) => (isOpen(window) ? sum : 0n)),
    };
  }
}

/** What a request holds besides its first reservation: the cost of its attempts that broke off. */
class Raised {
  private readonly parts: SpendingParts;
  private readonly accounts: readonly Account[];
  private readonly first: Reservation;
  private readonly now: () => number;
  /** By account. */
  private readonly reservedNanoUsd: bigint[];
  private readonly further: Reservation[] = [];

  constructor(parts: SpendingParts, accounts: readonly Account[], first: Reservation, now: () => number) {
    this.parts = parts;
    this.accounts = accounts;
    this.first = first;
    this.now = now;
    this.reservedNanoUsd = accounts.map(() => 0n);
  }

  to(broken: readonly SpentPart[]): MaybePromise<void> {
    const nowMs = this.now();
    const wanted = this.accounts.map(sumFor(broken));
    const lacking = this.accounts.flatMap((account, at) => {
      const nanoUsd = wanted[at]! - this.reservedNanoUsd[at]!;
      return nanoUsd > 0n ? { account, claim: account.claim(nanoUsd, nowMs) } : [];
    });
    if (lacking.length === 0) return undefined;
    const { id, reservationMs } = this.first;
    const claims = lacking.map(({ claim }) => claim);
    const reservation = { id: nameRaise(id, this.further.length + 1), claims, reservationMs };
    const take = (refusal: BudgetRefusal | undefined): void => {
      if (refusal) this.refuse(lacking[refusal.claim]!.account, wanted, refusal);
      this.further.push(reservation);
      for (const [at, nanoUsd] of wanted.entries()) this.reservedNanoUsd[at] = nanoUsd;
    };
    const answer = this.parts.counters.reserve(reservation);
    return answer instanceof Promise ? answer.then(take) : take(answer);
  }

  private refuse(account: Account, wanted: readonly bigint[], refusal: BudgetRefusal): never {
    const limit = account.limits[refusal.limit]!;
    this.parts.onHit?.(limit.kind, limit.window);
    const cost = formatDollars(wanted[this.accounts.indexOf(account)]!);
    const why = `what of this request broke off has cost ${cost}, which leaves too little for another attempt`;
    throw createSpendingRefusal(limit, why, refusal, this.now());
  }

  /** What they cost is in what the first reservation is settled with. */
  free(atMs: number): void {
    for (const reservation of this.further) {
      const costsNanoUsd = reservation.claims.map(() => 0n);
      void this.parts.counters.settle(reservation, { atMs, costsNanoUsd });
    }
  }
}

/** What counts for an account. */
const sumFor =
  (parts: readonly SpentPart[]) =>
  ({ includesByok }: Account): bigint =>
    parts.reduce((sum, { costNanoUsd, isByok }) => (includesByok || !isByok ? sum + costNanoUsd : sum), 0n);

/** When the windows began that are open now, in the order of `spendingWindows`; the last of them is the day's. */
function startsOf(nowMs: number): number[] {
  const starts = { ...windowStarts(nowMs), lifetime: 0 };
  return spendingWindows.map((window) => starts[window]);
}

function nameOf(scope: SpendingScope): string {
  if (scope === 'everything') return 'organization';
  if ('keyHash' in scope) return `key ${scope.keyHash}`;
  return 'memberId' in scope ? `member ${scope.memberId}` : `workspace ${scope.workspaceId}`;
}

/** With own keys it is another sum. */
const nameOfAccount = ({ scope, includesByok }: SpendingLimit): string =>
  includesByok ? `${nameOf(scope)} byok` : nameOf(scope);
