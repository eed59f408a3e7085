import { createContainers, type RunningContainers } from '../../src/containers/create-containers.ts';
import type { Caller } from '../../src/domain/caller.ts';
import { findContainerAt, placeContainer } from '../../src/management/containers/container-place.ts';
import { type Bus, createBus } from '../../src/platform/bus/bus.ts';
import { createMemoryNetwork } from '../../src/platform/bus/memory/memory-driver.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import type { SandboxDriver } from '../../src/platform/sandbox/sandbox.ts';
import type { ContainerRecord } from '../../src/platform/storage/ports/containers.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import type { FakeCommand } from '../../src/testing/fake-sandboxes.ts';
import type { OpenContainer } from '../../src/tools/containers.ts';

export const workspaceId = '00000000-0000-4000-8000-0000000000a1';
export const caller: Caller = { keyHash: 'k', keyName: 'key', kind: 'member', workspaceId, memberId: 'ada' };

export interface ProcessParts {
  storage: Storage;
  objects: Objects;
  driver: SandboxDriver;
  bus?: Bus;
  /** How long the lease of a killed process lasts. */
  validMs?: number;
}

const mebibyte = 1024 * 1024;

/** Opens the containers of a process of a gateway. */
export function openContainersOf({ storage, objects, driver, bus, validMs = 15_000 }: ProcessParts): RunningContainers {
  const ignore = (): void => {};
  return createContainers({
    driver,
    problem: undefined,
    store: storage.containers,
    objects,
    openEgress: undefined,
    now: Date.now,
    bus: bus ?? createBus(createMemoryNetwork().join()),
    files: { files: storage.files, objects },
    log: ignore,
    counts: { started: ignore, ended: ignore, failed: ignore },
    leaseTimes: { renewMs: validMs / 3, validMs },
    settings: () => ({
      limits: {
        memoryBytes: 256 * mebibyte,
        cpus: 1,
        processes: 64,
        temporaryBytes: 16 * mebibyte,
        diskBytes: 256 * mebibyte,
        diskEntries: 200_000,
      },
      maxRunning: 100,
      maxRunningTotal: 100,
      idleMs: 300_000,
      owner: 'member',
      price: { perSecondNanoUsd: 0n, minSeconds: 0 },
    }),
  });
}

/** Finds the container of the caller. @throws if there is none */
export async function getStored({ containers }: Pick<Storage, 'containers'>, id: string): Promise<ContainerRecord> {
  const found = await findContainerAt(containers, placeContainer(caller, id, 'member'));
  if (!found) throw new Error(`There is no container ${id}.`);
  return found;
}

/** Opens a container and runs a command of a fake sandbox, or a shell command. */
export async function runIn(containers: RunningContainers, id: string, command: FakeCommand | string) {
  const { signal } = new AbortController();
  const container: OpenContainer = await containers.open(caller, { id, compute: 'bash', signal });
  const text = typeof command === 'string' ? command : JSON.stringify(command);
  return container.run({ command: text, timeoutMs: 60_000, maxOutputLength: 10_000, signal });
}
