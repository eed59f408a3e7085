import { once } from 'node:events';
import { Cluster, Redis, type RedisOptions } from 'iovalkey';
import { listUrls } from '../../../domain/list-urls.ts';
import { rateLimitNames } from '../../../domain/rate-limits.ts';
import { spendingWindows } from '../accounts.ts';
import type {
  Admission,
  BudgetRefusal,
  Claim,
  RateDecision,
  Reservation,
  Settlement,
  SharedCounters,
  Unready,
} from '../counters.ts';
import { KnownEpochs } from '../known-epochs.ts';
import {
  ADMITTED,
  admitScript,
  CURRENT,
  FIRST_USE,
  leaveScript,
  releaseScript,
  reserveScript,
  settleScript,
} from './scripts.ts';

/** The braces put all keys into one slot of a Cluster, because scripts require that. */
const prefix = '{headgate}:';
const LONGEST_PAUSE_MS = 1000;
const SERVER_PORT = 6379;
const SENTINEL_PORT = 26_379;
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

/** The Sentinels that know the server. */
export interface Sentinels {
  /** Name of the primary. */
  primary: string;
  password?: string | undefined;
}

export interface RedisCounters extends SharedCounters {
  /** Unix milliseconds by the server's clock. */
  readTime(): Promise<number>;
}

/**
 * Counts in a Redis or Valkey that several hosts share, with one round trip per call. Connects and reconnects in the
 * background. Without a connection, every call rejects at once.
 *
 * @param urls `redis://user:password@host:port/database`, or `rediss:`, `valkey:`, `valkeys:`; several with commas for a Cluster or
 *   Sentinels. A single server that is a node of a Cluster is found by `ping`
 * @param connectMs time limit for a connection
 */
export function openRedisCounters(urls: string, connectMs: number, sentinels?: Sentinels): RedisCounters {
  const servers = listUrls(urls).map(readServer);
  const settings = {
    connectTimeout: connectMs,
    socketTimeout: LONGEST_SILENCE_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false, // their outcome is unknown
  } satisfies RedisOptions;
  const retryStrategy = (times: number): number => Math.min(times * 50, LONGEST_PAUSE_MS);
  const known = new KnownEpochs();
  const listeners = new Set<() => void>();
  /** Why there is no connection. Calls reject with a text that does not name the cause. */
  let connectionError: Error | undefined;

  function openServer(): Redis {
    const { host, port, ...login } = servers[0]!;
    const at: RedisOptions = sentinels
      ? {
          ...login,
          sentinels: servers.map((server) => ({ host: server.host, port: server.port ?? SENTINEL_PORT })),
          name: sentinels.primary,
          sentinelRetryStrategy: retryStrategy,
          ...(sentinels.password !== undefined && { sentinelPassword: sentinels.password }),
          ...(login.tls && { enableTLSForSentinelMode: true, sentinelTLS: login.tls }),
        }
      : { ...login, host, ...(port !== undefined && { port }) };
    return watch(new Redis({ ...at, ...settings, enableOfflineQueue: false, retryStrategy }));
  }
  function openCluster(): Cluster {
    const { username, password, tls } = servers[0]!;
    const login = { ...(username && { username }), ...(password && { password }), ...(tls && { tls }) };
    const cluster = new Cluster(
      servers.map(({ host, port = SERVER_PORT }) => ({ host, port })),
      {
        redisOptions: { ...login, ...settings },
        enableOfflineQueue: false,
        slotsRefreshTimeout: connectMs,
        clusterRetryStrategy: retryStrategy,
        // Certificates are those of the names of nodes.
        ...(tls && { dnsLookup: (address, done) => done(null, address) }),
      },
    );
    for (const event of ['-node', 'node error']) cluster.on(event, () => reportLost(cluster)); // a replica may have fewer counts
    return watch(cluster);
  }
  function watch<Client extends Redis | Cluster>(opened: Client): Client {
    opened.on('error', (error: Error & { lastNodeError?: Error }) => {
      connectionError = error.lastNodeError ?? error;
    });
    opened.on('ready', () => {
      connectionError = undefined;
    });
    opened.on('close', () => {
      connectionError ??= new Error('The server closed the connection.');
      reportLost(opened);
    });
    for (const [name, lua] of Object.entries(commands)) opened.defineCommand(name, { lua });
    return opened;
  }
  function reportLost(source: Redis | Cluster): void {
    if (source === client) for (const listener of listeners) listener();
  }
  let client: Redis | Cluster = sentinels || servers.length === 1 ? openServer() : openCluster();
  const run = (): Scripts => client as unknown as Scripts; // `watch` defines the commands

  /** Replaces the connection to one node of a Cluster by one to all nodes. @throws if it is a Sentinel */
  async function findMode(server: Redis): Promise<void> {
    const info = await server.info('server').catch(() => ''); // a user may not be allowed to ask
    const [, mode] = /^redis_mode:(\w+)/m.exec(info) ?? [];
    if (mode === 'sentinel') {
      throw new Error(
        'The server of counters.url is a Sentinel: set counters.sentinel.primary to the name of the primary.',
      );
    }
    if (mode !== 'cluster' || client !== server) return;
    client = openCluster();
    server.disconnect();
  }

  return {
    get connectionError() {
      return connectionError;
    },
    async admit(admission): Promise<RateDecision> {
      const { id, scopes, isConcurrent, tokens, leaseMs } = admission;
      const limits = scopes.flatMap((scope) => rateLimitNames.map((name) => scope.limits[name]));
      const keys = keysOfScopes(admission);
      const values = [id, isConcurrent ? 1 : 0, leaseMs, Math.round(tokens), ...limits];
      const [scope, ...answer] = await run().headgateAdmit(keys.length, ...keys, ...values);
      if (scope !== ADMITTED) {
        const [limit, freeInMs, remaining, isReserved] = answer;
        return {
          scope: scope!,
          limit: rateLimitNames[limit!]!,
          remaining: remaining!,
          isReserved: isReserved === 1,
          freeInMs: freeInMs!,
        };
      }
      const [atMs, ...counts] = answer;
      return {
        atMs: atMs!,
        counts: scopes.map((_, at) => ({ requests: counts[at * 2]!, tokens: counts[at * 2 + 1]! })),
      };
    },
    async leave(admission, { tokens, admittedAtMs, isTakenBack = false }) {
      const keys = keysOfScopes(admission);
      const isKnown = tokens !== undefined && admittedAtMs !== undefined;
      const reservation = isKnown ? [Math.floor(admittedAtMs / 1000), Math.round(admission.tokens)] : [0, 0];
      const values = [admission.id, Math.round(tokens ?? 0), isTakenBack ? 1 : 0, ...reservation];
      await run().headgateLeave(keys.length, ...keys, ...values);
    },
    async reserve({ id, claims, reservationMs }: Reservation): Promise<BudgetRefusal | Unready | undefined> {
      const keys = keysOfClaims(claims);
      const epochs = claims.map((claim) => (claim.isCurrent ? CURRENT : (known.get(claim.account) ?? FIRST_USE)));
      const values = [id, reservationMs, ...epochs, ...claims.flatMap(writeClaim)];
      const [outcome, ...answer] = await run().headgateReserve(keys.length, ...keys, ...values);
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
      await run().headgateSettle(keys.length, ...keys, id, Math.round(atMs), ...costs);
    },
    async release(ids, claims) {
      const keys = keysOfClaims(claims);
      await run().headgateRelease(keys.length, ...keys, ...claims.flatMap(writeWindows), ...ids);
    },
    onLost(listener) {
      listeners.add(listener);
    },
    async ping() {
      await becomeReady(client);
      if (client instanceof Redis && !sentinels) await findMode(client);
      await becomeReady(client);
      // At the node that has the keys. It writes, because a replica and a server without memory read.
      await client.hset(`${prefix}ping`, 'at', Date.now());
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

/** @throws the first error of the connection */
async function becomeReady(client: Redis | Cluster): Promise<void> {
  if (client.status !== 'ready') await once(client, 'ready');
}

interface Server extends Pick<RedisOptions, 'username' | 'password' | 'db' | 'family' | 'tls'> {
  host: string;
  port: number | undefined;
}

function readServer(text: string): Server {
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(text);
  const family = searchParams.get('family');
  // The parameter of redis-py, for servers that sign their certificate themselves: https://github.com/mozilla/fx-private-relay/pull/5131
  const isUnverified = /^(cert_)?none$/i.test(searchParams.get('ssl_cert_reqs') ?? '');
  return {
    host: hostname.replace(/^\[|\]$/g, '') || 'localhost',
    port: port === '' ? undefined : Number(port),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 && { db: Number(pathname.slice(1)) }),
    ...(family !== null && { family: Number(family) }),
    ...(['rediss:', 'valkeys:'].includes(protocol) && { tls: isUnverified ? { rejectUnauthorized: false } : {} }),
  };
}

/** The scripts by the name of their method. */
const commands: Record<keyof Scripts, string> = {
  headgateAdmit: admitScript,
  headgateLeave: leaveScript,
  headgateReserve: reserveScript,
  headgateSettle: settleScript,
  headgateRelease: releaseScript,
};

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
