import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Tags } from '../domain/tags.ts';
import { type SpendingWindow, spendingWindows } from '../platform/counters/accounts.ts';
import type { AccountLimit, BudgetRefusal, Claim, Counters, Reservation } from '../platform/counters/counters.ts';
import type { SpendingScope, SpendingSums } from '../platform/storage/ports/spending.ts';
import { createSpendingRefusal, formatDollars } from './refuse-spending.ts';
import { DAY_MS, windowStarts } from './windows.ts';

/** A spending limit. */
export interface SpendingLimit {
  /** `credits`: the prepaid amount of the organization. */
  kind: 'key' | 'member' | 'guardrail' | 'tag' | 'workspace' | 'organization' | 'credits';
  scope: SpendingScope;
  window: SpendingWindow;
  limitNanoUsd: bigint;
  /** For messages: `The key "app"`, `The workspace "main"`. */
  name: string;
  /** The guardrail that sets the limit. @see domain/guardrail.ts, `titleOf` */
  guardrail?: { id: string; title: string };
  /** Whether BYOK costs count. */
  includesByok: boolean;
}

export interface SpendingParts {
  counters: Pick<Counters, 'reserve' | 'settle' | 'release'>;
  /** Stores all entries recorded so far. */
  flush: () => Promise<void>;
  /** Reads the spending of each scope since each time. */
  read: (scopes: readonly SpendingScope[], sinceMs: readonly number[]) => Promise<SpendingSums[]>;
  /** Reads the number of ledger corrections that reduced these sums. */
  readReductions: () => Promise<number>;
  /** Lists the current limits. */
  listLimits: () => Promise<SpendingLimit[]>;
  /** Returns the deadline of a request. */
  requestMs: () => number;
  onTrouble: (error: unknown) => void;
  /** Called for each rejected request, for metrics. */
  onHit?: (kind: SpendingLimit['kind'], window: SpendingWindow) => void;
  now?: () => number;
  refreshMs?: number;
}

/** The maximum cost of a request in nano-dollars. */
export interface Estimate {
  /** At the most expensive endpoint, including BYOK. */
  nanoUsd: bigint;
  /** At the most expensive shared endpoint. Undefined if all are BYOK. */
  sharedNanoUsd: bigint | undefined;
  /** Explains one of these amounts to a rejected caller. */
  describe?(nanoUsd: bigint): string | undefined;
}

/** A part of the cost of a request. */
export type SpentPart = Pick<LedgerEntry, 'costNanoUsd' | 'isByok'>;

/** The reserved maximum cost of a request. */
export interface CostReservation {
  /**
   * Adds amounts that are known to be spent, or are about to be, to the reservation. The first reservation thereby
   * covers the next attempt.
   *
   * @param spent all such amounts so far
   * @param explain writes the reason of a rejection from the amount
   * @returns a promise only if the counters are shared
   * @throws {GatewayError} as `reserve` does; the next attempt must not be sent
   */
  raise(spent: readonly SpentPart[], explain: (cost: string) => string): MaybePromise<void>;
  /**
   * Adds the maximum cost of the model calls. For a reservation that was made before they were planned.
   *
   * @throws {GatewayError} as `reserve` does
   */
  extend(estimate: Estimate): MaybePromise<CostReservation>;
  /** Replaces the reservation with the amount spent. */
  settle(entry: LedgerEntry): void;
}

const REFRESH_MS = 10_000;
/** Returns the id of an extra reservation of a request. @see platform/counters/counters.ts */
const nameRaise = (id: string, number: number): string => `${id}.${number}`;
/** Time that a reservation lasts beyond the deadline of its request. */
const RESERVATION_MARGIN_MS = 60_000;

/**
 * Enforces the spending limits of keys, members, workspaces and the organization. Every request reserves its maximum
 * cost in all of its accounts or in none. Concurrent requests therefore exceed a limit by at most the difference
 * between the cost of one request and its reservation.
 *
 * The counters replace a reservation with the amount spent atomically. The ledger's sums, read at start and every ten
 * seconds, restore what the counters may have lost, so every cost is in at least one of them. The greater of the two
 * sums counts, so no cost counts twice. @see platform/counters/accounts.ts
 */
export class Spending {
  private readonly parts: SpendingParts;
  private readonly now: () => number;
  /** By scope: an account with BYOK, one without, or both. */
  private accounts = new Map<string, Account[]>();
  /** By name. */
  private accountsByName = new Map<string, Account>();
  /** By name: accounts whose sums are being read. */
  private readonly rereading = new Map<string, Promise<void>>();
  /** By key: the accounts that apply to it. */
  private readonly accountsOfKeys = new Map<string, { payers: Payers; accounts: readonly Account[] }>();
  private hasTagLimits = false;
  private started = 0;
  private taken = 0;
  private timer: NodeJS.Timeout | undefined;
  private troubled = false;
  private closed = false;

  constructor(parts: SpendingParts) {
    this.parts = parts;
    this.now = parts.now ?? currentTimeMs;
  }

  /** Reads limits and sums, then repeats it every ten seconds. @throws the store's error */
  async open(): Promise<void> {
    await this.refresh();
    this.schedule();
  }

  /** Reloads limits and sums. @throws the store's error; the previous ones then stay */
  async refresh(): Promise<void> {
    await this.take(() => undefined);
  }

  /** Reloads limits, and the sums of new accounts only. @throws the store's error */
  async refreshLimits(): Promise<void> {
    const known = new Map([...this.accounts.values()].flat().map((account) => [account.name, account.sums]));
    await this.take((name) => known.get(name));
  }

  private async take(findSums: (account: string) => Sums | undefined): Promise<void> {
    const turn = ++this.started;
    const limits = await this.parts.listLimits();
    // before the sums, so that an outdated high sum does not start a new count
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
    // only lifetime limits need the complete history
    for (const [isForLife, those] of Map.groupBy(unread, (each) => each.isForLife)) {
      await this.read(those, isForLife, readAtMs);
    }
    const accounts = found.map(({ name, own, sums }) => new Account(name, own, sums!)); // each was read
    if (turn < this.taken) return; // a later read was faster, so this one is outdated
    this.taken = turn;
    this.accountsByName = new Map(accounts.map((account) => [account.name, account]));
    this.accounts = Map.groupBy(accounts, (account) => nameOf(account.limits[0]!.scope));
    this.hasTagLimits = limits.some(({ kind }) => kind === 'tag');
    this.accountsOfKeys.clear();
  }

  /** Stores all recorded entries and reads the sums of the accounts of a reservation. @throws the store's error */
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
      if (!account) return []; // its limits were removed
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

  /** Returns the claims with the latest sums. */
  update(claims: readonly Claim[]): Claim[] {
    const nowMs = this.now();
    return claims.map((claim) => {
      const account = this.accountsByName.get(claim.account);
      return account ? { ...account.claim(claim.nanoUsd, nowMs), limits: claim.limits } : claim;
    });
  }

  /** Sets the sums of all given accounts at once. */
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

  /** Whether any limit applies to this caller. */
  limits(caller: Payers): boolean {
    return this.accounts.size > 0 && this.accountsOf(caller).length > 0;
  }

  /** Whether any limit of this caller counts BYOK costs. */
  limitsByok(caller: Payers): boolean {
    return this.accountsOf(caller).some(({ includesByok }) => includesByok);
  }

  /**
   * Reserves the maximum cost of a request. Skips accounts that ignore BYOK costs if every endpoint of the plan is
   * BYOK.
   *
   * @param id of the generation
   * @returns undefined if no limit applies; a promise only if the counters are shared
   * @throws {GatewayError} `payment_required` for a key, the organization or its credits; `permission_denied` for a
   *   member, a guardrail or a workspace; names the broadest limit that is reached and when it resets
   * @see docs/guides/limits.md
   */
  reserve(caller: Payers, id: string, estimate: Estimate): MaybePromise<CostReservation | undefined> {
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
    const reservation = { id, claims, reservationMs: this.parts.requestMs() + RESERVATION_MARGIN_MS };
    const result = this.parts.counters.reserve(reservation);
    return result instanceof Promise
      ? result.then((refusal) => this.accept(accounts, reservation, refusal, estimate))
      : this.accept(accounts, reservation, result, estimate);
  }

  private accept(
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
      throw createSpendingRefusal(limit, explainEstimate(estimate, nanoUsd), refusal, nanoUsd, this.now());
    }
    let extra: ExtraReservations | undefined;
    const openExtra = () => (extra ??= new ExtraReservations(this.parts, accounts, reservation, this.now));
    const held: CostReservation = {
      raise: (spent, explain) => openExtra().cover(spent, explain),
      extend(added) {
        const extended = openExtra().extend(added);
        return extended instanceof Promise ? extended.then(() => held) : held;
      },
      settle(entry) {
        const { createdAtMs: atMs, lines = [entry] } = entry;
        void counters.settle(reservation, { atMs, costsNanoUsd: accounts.map(sumFor(lines)) });
        extra?.release(atMs);
      },
    };
    return held;
  }

  /**
   * Releases the reservations of requests whose process has ended, and reads the sums that include them.
   *
   * @param ended entries that are in the store
   * @throws the store's error; the reservations then expire
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

  private accountsOf(payers: Payers): readonly Account[] {
    const { tags } = payers;
    const own = this.accountsOfKey(payers);
    if (!tags || !this.hasTagLimits) return own;
    const tagged = Object.entries(tags).flatMap(
      ([key, value]) => this.accounts.get(nameOf({ tag: `${key}:${value}` })) ?? [],
    );
    return tagged.length === 0 ? own : [...tagged, ...own];
  }

  /** Narrowest first. */
  private accountsOfKey({ keyHash, memberId, workspaceId }: Payers): readonly Account[] {
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

/** The owners of the limits of a request. */
export type Payers = Pick<Caller, 'keyHash' | 'memberId' | 'workspaceId'> & { tags?: Tags | undefined };

/** Returns the owners of the limits of a run. Most runs have no tags, and then none is created. */
export const payersOf = ({ caller, tags }: { caller: Caller; tags?: Tags | undefined }): Payers =>
  tags ? { keyHash: caller.keyHash, memberId: caller.memberId, workspaceId: caller.workspaceId, tags } : caller;

/** The spending and the start of each window, in the order of `spendingWindows`. */
interface Sums extends Pick<Claim, 'startsMs' | 'recordedNanoUsd' | 'readAtMs'> {
  /** Whether the lifetime sum is complete. If not, it lacks spending before the current windows. */
  isForLife: boolean;
}

/** An account whose sums are being read. */
interface Found {
  name: string;
  own: readonly SpendingLimit[];
  isForLife: boolean;
  sums: Sums | undefined;
}

/** The limits of one scope with its latest sums of the ledger. */
class Account {
  readonly includesByok: boolean;
  /** The name in the counters. Their sums only grow, so a reduced sum needs another name. */
  readonly name: string;
  readonly limits: readonly SpendingLimit[];
  private readonly accountLimits: readonly AccountLimit[];
  /** The latest sums of the ledger. */
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

  /** Resets the sums of windows that have started since they were read. */
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

/** The extra reservations of a request: the cost of earlier attempts, of plugins and of tools. */
class ExtraReservations {
  private readonly parts: SpendingParts;
  private readonly accounts: readonly Account[];
  private readonly first: Reservation;
  private readonly now: () => number;
  /** By account. */
  private readonly reservedNanoUsd: bigint[];
  private readonly further: Reservation[] = [];
  private raises = 0;

  constructor(parts: SpendingParts, accounts: readonly Account[], first: Reservation, now: () => number) {
    this.parts = parts;
    this.accounts = accounts;
    this.first = first;
    this.now = now;
    this.reservedNanoUsd = accounts.map(() => 0n);
  }

  /** Reserves the amounts that no earlier call has reserved. */
  cover(spent: readonly SpentPart[], explain: (cost: string) => string): MaybePromise<void> {
    const wanted = this.accounts.map(sumFor(spent));
    const lacking = wanted.map((nanoUsd, at) => {
      const before = this.reservedNanoUsd[at]!;
      return nanoUsd > before ? nanoUsd - before : 0n;
    });
    if (lacking.every((nanoUsd) => nanoUsd === 0n)) return undefined;
    // set at once, so that a concurrent call does not reserve the same amounts again
    for (const [at, nanoUsd] of lacking.entries()) this.reservedNanoUsd[at]! += nanoUsd;
    const giveBack = (): void => {
      for (const [at, nanoUsd] of lacking.entries()) this.reservedNanoUsd[at]! -= nanoUsd;
    };
    return this.reserve(lacking, giveBack, (at) => explain(formatDollars(wanted[at]!)));
  }

  /** Reserves the maximum cost of model calls. */
  extend(estimate: Estimate): MaybePromise<void> {
    const { nanoUsd, sharedNanoUsd = 0n } = estimate;
    const added = this.accounts.map(({ includesByok }) => (includesByok ? nanoUsd : sharedNanoUsd));
    return this.reserve(
      added,
      () => {},
      (at) => explainEstimate(estimate, added[at]!),
    );
  }

  /**
   * @param added by account; nothing is reserved where it is 0
   * @param giveBack called if it is rejected
   * @param explain the reason of a rejection, by account
   */
  private reserve(added: readonly bigint[], giveBack: () => void, explain: (at: number) => string): MaybePromise<void> {
    const nowMs = this.now();
    const places = added.flatMap((nanoUsd, at) => (nanoUsd > 0n ? at : []));
    if (places.length === 0) return undefined;
    const { id, reservationMs } = this.first;
    const claims = places.map((at) => this.accounts[at]!.claim(added[at]!, nowMs));
    const reservation = { id: nameRaise(id, ++this.raises), claims, reservationMs };
    const accept = (refusal: BudgetRefusal | undefined): void => {
      if (!refusal) {
        this.further.push(reservation);
        return;
      }
      giveBack();
      const at = places[refusal.claim]!;
      const limit = this.accounts[at]!.limits[refusal.limit]!;
      this.parts.onHit?.(limit.kind, limit.window);
      throw createSpendingRefusal(limit, explain(at), refusal, added[at]!, this.now());
    };
    const result = this.parts.counters.reserve(reservation);
    return result instanceof Promise ? result.then(accept) : accept(result);
  }

  /** Releases the extra reservations. The first one is settled with the complete cost. */
  release(atMs: number): void {
    for (const reservation of this.further) {
      const costsNanoUsd = reservation.claims.map(() => 0n);
      void this.parts.counters.settle(reservation, { atMs, costsNanoUsd });
    }
  }
}

/** Writes the reason of a rejected estimate. */
function explainEstimate(estimate: Estimate, nanoUsd: bigint): string {
  const basis = nanoUsd > 0n ? estimate.describe?.(nanoUsd) : undefined;
  return `this request may cost up to ${formatDollars(nanoUsd)}${basis === undefined ? '' : ` (${basis})`}`;
}

/** Returns a function that sums the costs that count for an account. */
const sumFor =
  (parts: readonly SpentPart[]) =>
  ({ includesByok }: Account): bigint =>
    parts.reduce((sum, { costNanoUsd, isByok }) => (includesByok || !isByok ? sum + costNanoUsd : sum), 0n);

/** Returns the starts of the current windows, in the order of `spendingWindows`. The last one is the day. */
function startsOf(nowMs: number): number[] {
  const starts = { ...windowStarts(nowMs), lifetime: 0 };
  return spendingWindows.map((window) => starts[window]);
}

function nameOf(scope: SpendingScope): string {
  if (scope === 'everything') return 'organization';
  if ('keyHash' in scope) return `key ${scope.keyHash}`;
  if ('tag' in scope) return `tag ${scope.tag}`;
  return 'memberId' in scope ? `member ${scope.memberId}` : `workspace ${scope.workspaceId}`;
}

/** Sums with and without BYOK are different accounts. */
const nameOfAccount = ({ scope, includesByok }: SpendingLimit): string =>
  includesByok ? `${nameOf(scope)} byok` : nameOf(scope);
