import { type Access, type AccessOptions, openAccess } from '../access/access.ts';
import { type OrphanedRequest, RateLimiter } from '../access/rate-limits.ts';
import type { RefusedKey } from '../access/refused-keys.ts';
import type { Config } from '../config/schema.ts';
import { listSpendingLimits } from '../metering/list-limits.ts';
import { Spending } from '../metering/spending.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import type { Accounting } from './open-accounting.ts';
import { createInternReach } from './create-intern-reach.ts';
import { openCounters } from './open-counters.ts';
import { SHUTDOWN_GRACE_MS, longestRequestMs } from './time-limits.ts';

export interface AccountsParts {
  config: () => Config;
  storage: Pick<Storage, 'access' | 'ledger' | 'management'>;
  accounting: Pick<Accounting, 'ledger'>;
  telemetry: Pick<Telemetry, 'countCounterFailure' | 'countLimitHit'>;
  log: WriteLog;
  /** Compiles the content filters of all keys. */
  prepareFilters: AccessOptions['prepareFilters'];
  /** Only set in a worker. */
  primary: Peer | undefined;
}

/** Keys, rate limits and budgets, all in memory. */
export interface Accounts {
  access: Access;
  spending: Spending;
  /** Admits or rejects a request. @see RateLimiter.admit */
  admit: RateLimiter['admit'];
  /** Releases the reservations of requests whose process has ended, if they outlive it. Never rejects. */
  release(ended: readonly OrphanedRequest[]): Promise<void>;
  /** Describes a problem of the shared counters. @returns undefined if there is none */
  describeCounters(): CountersProblem | undefined;
  /** Reloads keys and their limits. @throws the store's error */
  refresh(): Promise<void>;
}

export interface CountersProblem {
  /** Start of the outage, Unix milliseconds. */
  sinceMs: number;
  /** Whether the gateway rejects all requests during the outage. */
  rejectsAll: boolean;
}

/** @param resources collects the resources to close at the end */
export async function openAccounts(parts: AccountsParts, resources: AsyncDisposableStack): Promise<Accounts> {
  const { config, storage, accounting, telemetry, log, prepareFilters, primary } = parts;
  let spending: Spending | undefined;
  const counters = await openCounters({
    config,
    primary,
    sums: {
      refresh: async () => spending?.refresh(),
      refreshFor: async (reservation) => spending?.refreshFor(reservation),
      update: (claims) => spending?.update(claims) ?? [...claims],
    },
    log,
    onFailure: telemetry.countCounterFailure,
  });
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, counters.close()).catch((error) => log('counters close failed', { err: error })),
  );
  const requestMs = () => longestRequestMs(config());
  spending = new Spending({
    counters,
    flush: accounting.ledger.flush,
    read: (scopes, sinceMs) => storage.ledger.readSpending(scopes, sinceMs),
    readReductions: () => storage.ledger.readReductions(),
    listLimits() {
      const { access, management } = storage;
      return listSpendingLimits({ access, management, budgets: config().budgets });
    },
    requestMs,
    onTrouble: (error) => log('limit refresh failed', { err: error }),
    onHit: (kind, window) => telemetry.countLimitHit(window, kind),
  });
  await spending.open();
  resources.defer(() => spending.close());
  const limits = new RateLimiter({
    counters,
    settings: () => config().limits,
    findRateLimits: (keyHash) => access.findRateLimits(keyHash),
    requestMs,
    onHit: (scope, limit) => telemetry.countLimitHit(limit, scope),
  });
  const access = await openAccess(storage.access, {
    onTrouble: (error) => log('key refresh failed', { err: error }),
    onRecovery: () => log('key refresh recovered'),
    onRefused: (refused) => reportRefused(log, refused),
    onChange: () => spending.refreshLimits(),
    prepareFilters,
    internReach: createInternReach(config),
  });
  resources.defer(access.close);
  return {
    access,
    spending,
    admit(caller, request, id) {
      access.checkFresh(config().storage.grace_ms);
      return limits.admit(caller, request, id);
    },
    async release(ended) {
      if (!counters.release || ended.length === 0) return;
      try {
        await Promise.all([spending.release(ended), limits.release(ended)]);
      } catch (error) {
        log('reservation release failed', { err: error, requests: ended.length });
      }
    },
    describeCounters() {
      const { outage } = counters;
      if (!outage) return undefined;
      const { sinceMs, rejectsRates, rejectsBudgets } = outage;
      return {
        sinceMs,
        rejectsAll: (rejectsRates && limits.limitsEverything) || (rejectsBudgets && spending.limitsEverything),
      };
    },
    refresh: access.refresh,
  };
}

/** Logs a known key at `warn`, so that its owner learns of it. Logs an unknown key at `info`. */
function reportRefused(log: WriteLog, { hash, name, why, times: count, address: client_address }: RefusedKey): void {
  const key_hash = hash.slice(0, 12);
  if (why === 'unknown') log('unknown key rejected', { key_hash, client_address, count });
  else log('key rejected', { key_name: name, key_hash, client_address, reason: why, count });
}
