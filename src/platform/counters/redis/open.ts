import { once } from 'node:events';
import { Redis } from 'iovalkey';
import { rateLimitNames } from '../../../domain/rate-limits.ts';
import { spendingWindows } from '../accounts.ts';
import type {
  Admission,
  BudgetRefusal,
  Claim,
  RateRefusal,
  Reservation,
  Settlement,
  SharedCounters,
  Unready,
} from '../counters.ts';
import { KnownEpochs } from '../known-epochs.ts';
import { admitScript, CURRENT, FIRST_USE, leaveScript, releaseScript, reserveScript, settleScript } from './scripts.ts';

/** The braces put all keys into one slot of a cluster, because scripts require that. */
const prefix = '{headgate}:';
const LONGEST_PAUSE_MS = 1000;
/**
 * Time without a response after which a connection is replaced. A network that drops packets does not close the
 * connection.
 */
const LONGEST_SILENCE_MS = 5000;

/** The scripts as methods. The client sends their hash, and their text if the server does not know the hash. */
interface Scripts {
  headgateAdmit(keys: number, ...values: (string | number)[]): Promise<number[]>;
  headgateLeave(keys: number, ...values: (string | number)[]): Promise<unknown>;
  headgateReserve(keys: number, ...values: (string | number)[]): Promise<(string | number)[]>;
  headgateSettle(keys: number, ...values: (string | number)[]): Promise<unknown>;
  headgateRelease(keys: number, ...values: (string | number)[]): Promise<unknown>;
}

export interface RedisCounters extends SharedCounters {
  /** Unix milliseconds by the server's clock. */
  readTime(): Promise<number>;
}

/**
 * Counts in a Redis or Valkey that several hosts share, with one round trip per call. Connects and reconnects in the
 * background. Without a connection, every call rejects at once.
 *
 * @param url `redis://user:password@host:port/database`, or `rediss:`, `valkey:`, `valkeys:`
 * @param connectMs time limit for a connection
 */
export function openRedisCounters(url: string, connectMs: number): RedisCounters {
  const client = new Redis(url, {
    connectTimeout: connectMs,
    socketTimeout: LONGEST_SILENCE_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false, // their outcome is unknown
    retryStrategy: (times) => Math.min(times * 50, LONGEST_PAUSE_MS),
  });
  /** Why there is no connection. Calls reject with a text that does not name the cause. */
  let connectionError: Error | undefined;
  client.on('error', (error: Error) => {
    connectionError = error;
  });
  client.on('ready', () => {
    connectionError = undefined;
  });
  const known = new KnownEpochs();
  client.defineCommand('headgateAdmit', { lua: admitScript });
  client.defineCommand('headgateLeave', { lua: leaveScript });
  client.defineCommand('headgateReserve', { lua: reserveScript });
  client.defineCommand('headgateSettle', { lua: settleScript });
  client.defineCommand('headgateRelease', { lua: releaseScript });
  const scripts = client as unknown as Scripts; // the commands are defined above

  return {
    get connectionError() {
      return connectionError;
    },
    async admit(admission): Promise<RateRefusal | undefined> {
      const { id, scopes, isStream, leaseMs } = admission;
      const limits = scopes.flatMap((scope) => rateLimitNames.map((name) => scope.limits[name]));
      const keys = keysOfScopes(admission);
      const values = [id, isStream ? 1 : 0, leaseMs, ...limits];
      const [scope, limit, freeInMs] = await scripts.headgateAdmit(keys.length, ...keys, ...values);
      return scope === undefined ? undefined : { scope, limit: rateLimitNames[limit!]!, freeInMs: freeInMs! };
    },
    async leave(admission, tokens, isTakenBack = false) {
      const keys = keysOfScopes(admission);
      await scripts.headgateLeave(keys.length, ...keys, admission.id, Math.round(tokens), isTakenBack ? 1 : 0);
    },
    async reserve({ id, claims, reservationMs }: Reservation): Promise<BudgetRefusal | Unready | undefined> {
      const keys = keysOfClaims(claims);
      const epochs = claims.map((claim) => (claim.isCurrent ? CURRENT : (known.get(claim.account) ?? FIRST_USE)));
      const values = [id, reservationMs, ...epochs, ...claims.flatMap(writeClaim)];
      const [outcome, ...answer] = await scripts.headgateReserve(keys.length, ...keys, ...values);
      if (outcome === 'forgotten' || outcome === 'unknown') return outcome;
      if (outcome === 'held') {
        for (const [at, { account }] of claims.entries()) known.set(account, Number(answer[at]));
        return undefined;
      }
      const [claim, limit, spent, held] = answer;
      return {
        claim: Number(claim),
        limit: Number(limit),
        spentNanoUsd: BigInt(spent!),
        reservedNanoUsd: BigInt(held!),
      };
    },
    async settle({ id, claims }: Reservation, { atMs, costsNanoUsd }: Settlement) {
      const keys = keysOfClaims(claims);
      const costs = claims.flatMap(({ nanoUsd }, at) => [String(nanoUsd), String(costsNanoUsd[at]!)]);
      await scripts.headgateSettle(keys.length, ...keys, id, Math.round(atMs), ...costs);
    },
    async release(ids, claims) {
      const keys = keysOfClaims(claims);
      await scripts.headgateRelease(keys.length, ...keys, ...claims.flatMap(writeWindows), ...ids);
    },
    onLost(listener) {
      client.on('close', listener);
    },
    async ping() {
      if (client.status !== 'ready') await once(client, 'ready'); // rejects at the first error
      await client.ping();
    },
    async readTime() {
      const [seconds, microseconds] = await client.time();
      return Number(seconds) * 1000 + Number(microseconds) / 1000;
    },
    async close() {
      client.disconnect();
    },
  };
}

const keysOfScopes = ({ scopes }: Admission): string[] =>
  scopes.flatMap(({ id }) => [`${prefix}rate:${id}`, `${prefix}streams:${id}`]);

const keysOfClaims = (claims: readonly Claim[]): string[] =>
  claims.flatMap(({ account }) => [`${prefix}account:${account}`, `${prefix}holds:${account}`]);

const writeWindows = ({ startsMs, recordedNanoUsd }: Claim): (string | number)[] =>
  startsMs.flatMap((start, window) => [start, String(recordedNanoUsd[window]!)]);

const writeClaim = (claim: Claim): (string | number)[] => [
  String(claim.nanoUsd),
  ...writeWindows(claim),
  claim.limits.length,
  ...claim.limits.flatMap((limit) => [
    spendingWindows.indexOf(limit.window) + 1,
    String(limit.nanoUsd),
    limit.isExhaustedWhenReached ? 1 : 0,
  ]),
];
