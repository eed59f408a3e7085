import type { Socket } from 'node:net';
import type { Intern } from '../../domain/intern.ts';
import type { Bus } from '../../platform/bus/bus.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { SandboxDriver, SandboxLimits, SandboxNetwork } from '../../platform/sandbox/sandbox.ts';
import type { ContainerStore } from '../../platform/storage/ports/containers.ts';
import type { WriteLog } from '../../platform/telemetry/log-messages.ts';

/** The name under which agents reach the API of the gateway through the egress proxy. It exists nowhere else. */
export const GATEWAY_HOST = 'gateway.internal';
/** The base URL of the API for agents. */
export const GATEWAY_URL = `http://${GATEWAY_HOST}/api/v1`;

/** An agent that an operator runs instead of the built-in one. */
export interface RuntimeProgram {
  command: readonly string[];
  /** Files of the host that the agent needs. They are copied into the sandbox before it starts. */
  files: readonly string[];
}

export interface RuntimeSettings {
  limits: SandboxLimits;
  /** Undefined: the built-in agent. */
  program: RuntimeProgram | undefined;
  /** Hosts that agents can reach besides the gateway and those of their secrets. */
  allowedDomains: readonly string[];
}

/** The network access of one intern. */
export interface InternEgress {
  network: SandboxNetwork;
  /** PEM. The certificates that programs must trust. Absent: those of the system. */
  trustBundle?: string | undefined;
  /** Variables with the placeholders of its secrets. */
  environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Opens the network access of an intern. Connections to `GATEWAY_HOST` go to the gateway itself. */
export type OpenInternEgress = (request: {
  intern: Intern;
  name: string;
  /** Read at each request: a reload changes it. */
  allowedDomains: () => readonly string[];
  connectGateway: () => Promise<Socket>;
}) => Promise<InternEgress>;

export interface RuntimeParts {
  /** Undefined: no intern can run, because of `problem`. */
  driver: SandboxDriver | undefined;
  problem: string | undefined;
  store: ContainerStore;
  objects: Objects;
  settings: () => RuntimeSettings;
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  openEgress: OpenInternEgress;
  /** Opens a connection to this gateway, on which requests have the key of the intern. */
  connectGateway: (apiKey: string) => Promise<Socket>;
  /** Returns where other processes of the gateway find this one. */
  findAddress: () => Promise<string>;
  now: () => number;
  log: WriteLog;
  /** Times of tests. */
  times?: Partial<RuntimeTimes>;
}

export interface RuntimeTimes {
  /** Time for an agent to accept requests after its start. */
  startMs: number;
  /** Time of one check of an agent. */
  checkMs: number;
  /** First pause before an agent is started again. It doubles. */
  restartMs: number;
  /** Time between two saves of the home folder. */
  saveMs: number;
  /** Time that a person has to answer. */
  interactionMs: number;
}

export const runtimeTimes: RuntimeTimes = {
  startMs: 60_000,
  checkMs: 10_000,
  restartMs: 1000,
  saveMs: 300_000,
  interactionMs: 300_000,
};
