import { readPostgresSettings } from '../../postgres-settings.ts';
import { addSpent, findBudgetRefusal, updateAccount } from '../accounts.ts';
import type {
  Admission,
  BudgetRefusal,
  Claim,
  AdmissionOutcome,
  RateDecision,
  Reservation,
  Settlement,
  SharedCounters,
  Unready,
} from '../counters.ts';
import { createBatcher } from '../create-batcher.ts';
import { KnownEpochs } from '../known-epochs.ts';
import { admitTo, leaveFrom } from '../rates.ts';
import { forgetAccounts, lockAccounts, type StoredAccount, writeAccounts } from './budget-accounts.ts';
import { addReservations, type ReservationRow, takeReservations } from './budget-reservations.ts';
import { forgetWindows, lockWindows, writeWindows } from './rate-windows.ts';
import { createTransactions, type Transaction } from './transactions.ts';

/** One for rates, one for money, one for a ping. */
const CONNECTIONS = 3;
const FORGET_EVERY_MS = 600_000;

type RateJob = { admission: Admission; left?: AdmissionOutcome };
/**
 * `released`: reservations of ended requests in the accounts of the reservation. The reservation itself reserves
 * nothing.
 */
type BudgetJob = { reservation: Reservation; settlement?: Settlement; released?: readonly string[] };
/** The result of a successful reservation has the creation times of its accounts. */
type BudgetAnswer = { epochs: number[] } | { refusal: BudgetRefusal } | Unready | undefined;

/**
 * Counts in the PostgreSQL that several hosts share, by the rules of `rates.ts` and `accounts.ts`. A transaction locks
 * the rows of all its scopes in a fixed order, decides and writes. Calls that arrive while one runs share the next one.
 * Therefore a host has at most one transaction of each kind, and many requests share its round trips. Counts are exact
 * under contention, because the hosts change an account one after the other.
 *
 * The migrations of `storage/` create the tables.
 *
 * @param limitMs time limit of a connection and of a query
 */
export async function openPostgresCounters(url: string, limitMs: number): Promise<SharedCounters> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    ...(await readPostgresSettings(url)),
    max: CONNECTIONS,
    application_name: 'headgate counters',
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
    keepAlive: true,
  });
  pool.on('error', () => {}); // as in storage/postgres/open.ts
  pool.on('connect', (client) => client.on('error', () => {}));
  const transact = createTransactions(pool, limitMs);

  const runRates = createBatcher((jobs: RateJob[]) =>
    transact(async (client) => {
      const locked = await lockWindows(
        client,
        new Set(jobs.flatMap(({ admission }) => admission.scopes.map(({ id }) => id))),
      );
      const answers = jobs.map(({ admission, left }): RateDecision | undefined => {
        const windows = admission.scopes.map(({ id }) => locked.windows.get(id)!);
        if (left === undefined) return admitTo(windows, admission, locked.nowMs);
        leaveFrom(windows, admission, left, locked.nowMs);
        return undefined;
      });
      await writeWindows(client, locked);
      return answers;
    }),
  );
  const known = new KnownEpochs();
  const runBudgets = createBatcher((jobs: BudgetJob[]) => transact((client) => keepBooks(client, jobs, known)));
  // Repeated at the next interval.
  const forget = () => Promise.all([transact(forgetWindows), transact(forgetAccounts)]).catch(() => {});
  const forgetting = setInterval(() => void forget(), FORGET_EVERY_MS).unref();

  return {
    admit: async (admission) => (await runRates({ admission }))!, // only `left` has no answer
    async leave(admission, left) {
      await runRates({ admission, left });
    },
    async reserve(reservation) {
      const answer = await runBudgets({ reservation });
      if (typeof answer !== 'object') return answer;
      if ('refusal' in answer) return answer.refusal;
      for (const [at, { account }] of reservation.claims.entries()) known.set(account, answer.epochs[at]!);
      return undefined;
    },
    settle: async (reservation, settlement) => void (await runBudgets({ reservation, settlement })),
    async release(ids, claims) {
      await runBudgets({ reservation: { id: '', claims, reservationMs: 0 }, released: ids });
    },
    // A standby reads, but locks nothing.
    ping: async () => void (await pool.query('select 1 from budget_accounts limit 1 for update skip locked')),
    close() {
      clearInterval(forgetting);
      return pool.end();
    },
  };
}

async function keepBooks(client: Transaction, jobs: readonly BudgetJob[], known: KnownEpochs): Promise<BudgetAnswer[]> {
  const names = new Set(jobs.flatMap(({ reservation }) => reservation.claims.map(({ account }) => account)));
  const { accounts, nowMs } = await lockAccounts(client, names);
  const settled = jobs.flatMap(({ reservation, settlement }) => (settlement ? [reservation.id] : []));
  const ended = jobs.flatMap(({ released }) => released ?? []);
  const taken = new Map<string, ReservationRow>();
  for (const hold of await takeReservations(client, { settled, ended, accounts: [...names], nowMs })) {
    accounts.get(hold.account)!.reservedNanoUsd -= hold.nanoUsd;
    taken.set(`${hold.id} ${hold.account}`, hold);
  }

  // Settlements come before the next reservation, so that it sees the spending.
  for (const { reservation, settlement } of jobs) {
    if (!settlement) continue;
    for (const [index, { account }] of reservation.claims.entries()) {
      if (!taken.has(`${reservation.id} ${account}`)) continue;
      addSpent(accounts.get(account)!, settlement.costsNanoUsd[index]!, settlement);
    }
  }
  const held: (ReservationRow & { expiresAtMs: number })[] = [];
  const answers = jobs.map(({ reservation: { id, claims, reservationMs }, settlement, released }): BudgetAnswer => {
    if (settlement) return undefined;
    const states = claims.map(({ account }) => accounts.get(account)!);
    const unready = released ? undefined : findUnready(claims, states, known);
    if (unready) return unready;
    for (const [index, claim] of claims.entries()) updateAccount(states[index]!, claim, nowMs);
    if (released) return undefined;
    for (const state of states) state.epoch ||= nowMs;
    const refusal = findBudgetRefusal(states, claims);
    if (refusal) return { refusal };
    for (const [index, { account, nanoUsd }] of claims.entries()) {
      states[index]!.reservedNanoUsd += nanoUsd;
      held.push({ id, account, nanoUsd, expiresAtMs: nowMs + reservationMs });
    }
    return { epochs: states.map(({ epoch }) => epoch) };
  });
  const added = await addReservations(client, held);
  if (added.length < held.length) {
    for (const { account, nanoUsd } of held) accounts.get(account)!.reservedNanoUsd -= nanoUsd;
    for (const { account, nanoUsd } of added) accounts.get(account)!.reservedNanoUsd += nanoUsd;
  }
  await writeAccounts(client, accounts);
  return answers;
}

/** @param states of the claims */
function findUnready(
  claims: readonly Claim[],
  states: readonly StoredAccount[],
  known: KnownEpochs,
): Unready | undefined {
  let unready: Unready | undefined;
  for (const [at, { account, isCurrent }] of claims.entries()) {
    if (isCurrent) continue;
    const { epoch } = states[at]!;
    const before = known.get(account);
    if (before !== undefined && before !== epoch) return 'forgotten';
    if (epoch === 0) unready = 'unknown';
  }
  return unready;
}
