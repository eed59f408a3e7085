import { SignInAttempts } from '../../api/console/sign-in-attempts.ts';
import { createHealthHandler, createReadyHandler } from '../../api/health/handler.ts';
import { createReadinessCheck, type Readiness } from '../../api/health/readiness.ts';
import { createMetricsHandler } from '../../api/metrics/handler.ts';
import { createOpenApiHandler } from '../../api/openapi/handler.ts';
import { type ApiParts, definedRoutes } from '../../api/routes.ts';
import { maskConfig } from '../../config/mask-config.ts';
import { isLoopback } from '../../platform/telemetry/is-loopback.ts';
import { type PrimaryService, serviceNames } from '../../workers/services.ts';
import type { Base } from '../open-base.ts';
import { POLLED_MS } from '../time-limits.ts';

/** The pages about the gateway itself. */
export interface Service {
  routes: Pick<ApiParts, 'gateway' | 'console' | 'consolePages'>;
  /** Finds whether this process accepts requests, and its problems. */
  checkReadiness: () => Promise<Readiness>;
  /** Whether somebody has asked for the readiness lately. */
  isPolled: () => boolean;
}

/** Opens the health checks, the metrics and the OpenAPI document. */
export function openService(base: Base): Service {
  const { config, options, state, accounting, accounts, telemetry, clock, version, host } = base;
  const { ledger } = accounting;
  const { access, describeCounters } = accounts;
  const primary = options.slot?.primary.use<PrimaryService>(serviceNames.primary);
  const read = createReadinessCheck({
    isDraining: () => state.phase !== 'serving',
    blockedSinceMs: ledger.findBlockedSinceMs,
    ping: base.pingStore,
    storeLostSinceMs: base.storeLostSinceMs,
    checkFresh: () => access.checkFresh(config().storage.grace_ms),
    lastRead: () => ({ atMs: access.seenAtMs, ageMs: access.ageMs }),
    notStoredSinceMs: () => ledger.notStoredSinceMs,
    notArchivedSinceMs: () => base.archiving.failingSinceMs,
    describeCounters,
    lateExports: base.exports.findLate,
    clockAheadMs: () => clock?.aheadMs ?? 0,
  });
  const consoleSettings = {
    isOffered: () => config().server.console,
    publicUrl: () => config().server.public_url,
  };
  let polledAtMs = Number.NEGATIVE_INFINITY;
  const checkReadiness = (): Promise<Readiness> => {
    polledAtMs = performance.now();
    return read();
  };
  return {
    checkReadiness,
    isPolled: () => performance.now() - polledAtMs < POLLED_MS,
    routes: {
      console: { store: base.storage.console, access, attempts: new SignInAttempts(), ...consoleSettings },
      consolePages: { ...consoleSettings, folder: options.consoleFolder },
      gateway: {
        showOpenApi: createOpenApiHandler(version, definedRoutes),
        showConfig: async () => ({
          data: { version, file: options.file ?? null, values: maskConfig(config(), base.lines.mask.hide) },
        }),
        health: createHealthHandler(version, host),
        showMetrics: createMetricsHandler({
          collect: () => primary?.collectMetrics().catch(telemetry.collect) ?? telemetry.collect(),
          access: () => config().server.metrics,
          // Another server may listen on a public address.
          isLocal: options.ownsProcess && isLoopback(config().server.host),
          identify: access.identify,
        }),
        ready: createReadyHandler(async () => {
          // If the primary has ended, this worker responds for itself.
          const ofAll = await primary?.collectReadiness().catch(() => undefined);
          return ofAll ?? [await checkReadiness()];
        }),
      },
    },
  };
}
