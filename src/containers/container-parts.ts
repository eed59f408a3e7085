import type { Socket } from 'node:net';
import type { ContainerOwner } from '../management/containers/container-place.ts';
import type { FileParts } from '../management/files/parts.ts';
import type { Bus } from '../platform/bus/bus.ts';
import type { SandboxEgressOptions } from '../platform/egress/sandbox-egress.ts';
import type { SecretRelease } from '../platform/egress/secret-release.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { SandboxDriver, SandboxLimits, SandboxNetwork } from '../platform/sandbox/sandbox.ts';
import type { ContainerStore } from '../platform/storage/ports/containers.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Containers } from '../tools/containers.ts';

/** Opens the network access of one sandbox. @throws {Error} */
export type OpenEgress = (sandbox: {
  name: string;
  workspaceId: string;
  allowedDomains: SandboxEgressOptions['allowedDomains'];
  /** The secrets of the sandbox. Absent: it has none. */
  release?: SecretRelease;
  /** A host of the gateway's own, to which connections are opened in another way. */
  ownHost?: { name: string; connect: () => Promise<Socket> };
}) => Promise<OpenedEgress>;

export interface OpenedEgress {
  network: SandboxNetwork;
  /** PEM. The certificates that programs in a sandbox with secrets must trust. `listTrustVariables` names their file. */
  trustBundle?: string | undefined;
  close(): Promise<void>;
}

export interface ContainerSettings {
  limits: SandboxLimits;
  /** Maximum running sandboxes of a member, of all processes together. */
  maxRunning: number;
  /** Maximum running sandboxes of this process. */
  maxRunningTotal: number;
  idleMs: number;
  /** Who uses a container that a caller creates. */
  owner: ContainerOwner;
  price: Containers['price'];
}

/** Counters of the work of sandboxes. */
export interface SandboxCounts {
  started(): void;
  /** @param ranMs how long it ran */
  ended(ranMs: number): void;
  failed(reason: 'start' | 'save' | 'crash' | 'lease'): void;
}

export interface ContainersParts {
  /** Undefined: no container can run, because of `problem`. */
  driver: SandboxDriver | undefined;
  problem: string | undefined;
  store: ContainerStore;
  objects: Objects;
  /** The files of workspaces, which callers attach. */
  files: Pick<FileParts, 'files' | 'objects'>;
  settings: () => ContainerSettings;
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  /** Absent: containers have no network. */
  openEgress: OpenEgress | undefined;
  now: () => number;
  log: WriteLog;
  counts: SandboxCounts;
  /** Time between two renewals of the leases, and time after which those of a process that was killed expire. */
  leaseTimes?: { renewMs: number; validMs: number };
  /** Resolves when a call has waited long enough for a save. Rejects if the signal is aborted. */
  waitForSave?: (signal: AbortSignal) => Promise<void>;
  /** Time after which an idle sandbox gives its place to another one. */
  yieldMs?: number;
}
