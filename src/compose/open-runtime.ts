import type { HostIdentity } from '../api/interns/host-proof.ts';
import { writeOwnerAddress } from '../api/interns/owner-address.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { findHolder } from '../vault/effective.ts';
import { createSecretRelease, writeSecretVariables } from '../vault/release.ts';
import type { VaultParts } from '../vault/secrets.ts';
import { createRuntime, type LocalRuntime } from '../interns/runtime/create-runtime.ts';
import { GATEWAY_HOST, type OpenInternEgress, type RuntimeSettings } from '../interns/runtime/runtime-parts.ts';
import type { Bus } from '../platform/bus/bus.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { ContainerStore } from '../platform/storage/ports/containers.ts';
import type { InternStore } from '../platform/storage/ports/interns.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { type OpenedContainers, readSandboxLimits } from './open-containers.ts';
import type { OwnSocket } from './open-own-socket.ts';

export interface OpenRuntimeParts extends Pick<OpenedContainers, 'driver' | 'problem' | 'openEgress'> {
  config: () => Config;
  store: ContainerStore;
  objects: Objects;
  bus: Bus;
  log: WriteLog;
  own: OwnSocket;
  vault: VaultParts;
  interns: Pick<InternStore, 'findInternByVault'>;
  host: HostIdentity;
}

/** Opens the runtime of interns of this process. @param resources collects the resources to close at the end */
export function openRuntime(parts: OpenRuntimeParts, resources: AsyncDisposableStack): LocalRuntime {
  const { config, driver, problem, store, objects, bus, log, own } = parts;
  const openEgress: OpenInternEgress = async ({ intern, name, allowedDomains, connectGateway }) => {
    if (!parts.openEgress)
      throw new Error(
        'Interns need a sandbox with a network, which this driver does not provide. See docs/guides/sandbox-network.md.',
      );
    const { holder, ignoredVaultId } = await findHolder(parts.interns, intern);
    if (ignoredVaultId !== undefined) log('borrowed vault ignored', { intern: intern.id, vault: ignoredVaultId });
    const { workspaceId } = holder;
    const release = createSecretRelease(parts.vault, holder);
    const placeholders = await release.listPlaceholders();
    const opened = await parts.openEgress({
      name,
      workspaceId,
      allowedDomains: addGatewayHost(allowedDomains),
      ownHost: { name: GATEWAY_HOST, connect: connectGateway },
      release,
    });
    return { ...opened, environment: writeSecretVariables(placeholders) };
  };
  const runtime = createRuntime({
    driver,
    problem,
    store,
    objects,
    bus,
    log,
    openEgress,
    now: currentTimeMs,
    settings: () => readRuntimeSettings(config()),
    connectGateway: own.connect,
    findAddress: async () => writeOwnerAddress(parts.host, await own.open(), config().server.advertise_url),
  });
  resources.defer(() => runtime.close());
  return runtime;
}

/** Returns the same list until it changes, so that it is compiled once. */
function addGatewayHost(list: () => readonly string[]): () => readonly string[] {
  let last: { from: readonly string[]; all: readonly string[] } | undefined;
  return () => {
    const from = list();
    if (last?.from !== from) last = { from, all: [...from, GATEWAY_HOST] };
    return last.all;
  };
}

function readRuntimeSettings(config: Config): RuntimeSettings {
  const { runtime, runtimes, allowed_domains: allowedDomains } = config.interns;
  return { limits: readSandboxLimits(config), allowedDomains, program: runtimes[runtime] };
}
