import type { Config } from '../config/schema.ts';
import type { ContainerSettings, OpenEgress } from '../containers/container-parts.ts';
import { createContainers, type RunningContainers } from '../containers/create-containers.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { sweepContainers } from '../management/containers/sweep-containers.ts';
import { nanoUsdOf } from '../metering/cost.ts';
import { repeatHourly } from '../platform/hourly.ts';
import type { SandboxDriver, SandboxLimits } from '../platform/sandbox/sandbox.ts';
import { createEgress, type OpenProxy } from './create-egress.ts';
import { createSandboxDriver } from './create-sandbox-driver.ts';
import { createSocketProxies } from './create-socket-proxies.ts';
import type { Base } from './open-base.ts';

/** The containers of workspaces, and what the runtime of interns shares with them. */
export interface OpenedContainers {
  containers: RunningContainers;
  driver: SandboxDriver | undefined;
  problem: string | undefined;
  openEgress: OpenEgress | undefined;
}

const DAY_MS = 86_400_000;

/** Opens the containers of workspaces. @param resources collects the resources to close at the end */
export async function openContainers(base: Base, resources: AsyncDisposableStack): Promise<OpenedContainers> {
  const { config, files, bus, log, outbound, isFirst } = base;
  const { dataDir, file, sandboxDriver } = base.options;
  const { containers: store } = base.storage;
  const { sandboxes: numbers } = base.telemetry;
  const chosen = sandboxDriver
    ? { driver: sandboxDriver }
    : await createSandboxDriver({ config: config(), dataDir, file });
  const driver = 'driver' in chosen ? chosen.driver : undefined;
  const problem = 'problem' in chosen ? chosen.problem : undefined;
  const now = currentTimeMs;
  if (driver) {
    resources.defer(() => driver.close().catch((error: unknown) => log('sandbox stop failed', { err: error })));
    void driver.removeLeftovers().catch((error: unknown) => log('sandbox stop failed', { err: error }));
  }
  const openProxy = driver && (await chooseProxies(driver.kind, base, resources));
  const openEgress = openProxy && createEgress({ outbound, counts: numbers.egress, log, openProxy });
  const containers = createContainers({
    driver,
    store,
    files,
    bus,
    log,
    now,
    objects: files.objects,
    openEgress,
    problem,
    settings: () => readContainerSettings(config()),
    counts: numbers,
  });
  resources.defer(() => containers.close());
  numbers.driver = driver?.kind ?? 'none';
  numbers.running = () => containers.running;
  if (isFirst) {
    const retentionMs = () => config().tools.sandbox.retention_days * DAY_MS;
    const sweep = repeatHourly(
      (signal) => sweepContainers({ store, objects: files.objects, retentionMs, now }, signal),
      (error) => log('container sweep failed', { err: error }),
    );
    resources.defer(sweep.close);
  }
  return { containers, driver, problem, openEgress };
}

/** @returns undefined: sandboxes of this kind have no network */
async function chooseProxies(
  kind: SandboxDriver['kind'],
  { config, options, log }: Base,
  resources: AsyncDisposableStack,
): Promise<OpenProxy | undefined> {
  if (kind === 'simulation') return undefined;
  if (kind !== 'kubernetes') return createSocketProxies({ hasOtherUser: kind === 'bubblewrap' }, resources);
  const { egress } = config().tools.sandbox.kubernetes;
  if (!egress) return undefined;
  const { openPodProxies } = await import('./open-pod-proxies.ts');
  return await openPodProxies({ ...egress, port: egress.port + (options.slot?.slot ?? 0), log }, resources);
}

/** Returns the limits of sandboxes that start now. */
export const readSandboxLimits = ({ tools: { sandbox } }: Config): SandboxLimits => ({
  memoryBytes: sandbox.memory,
  cpus: sandbox.cpus,
  processes: sandbox.processes,
  diskBytes: sandbox.disk,
  diskEntries: sandbox.files,
  temporaryBytes: sandbox.temporary,
});

function readContainerSettings(config: Config): ContainerSettings {
  const { sandbox } = config.tools;
  return {
    limits: readSandboxLimits(config),
    maxRunning: sandbox.max_running,
    maxRunningTotal: sandbox.max_running_total,
    idleMs: sandbox.idle_seconds * 1000,
    owner: sandbox.owner,
    price: { perSecondNanoUsd: nanoUsdOf(sandbox.price_per_second), minSeconds: sandbox.min_seconds },
  };
}
