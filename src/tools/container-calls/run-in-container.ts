import type { Charge } from '../../domain/charge.ts';
import { nameRestarted, NONCE_LENGTH } from '../../domain/container-id.ts';
import { randomText } from '../../domain/ids.ts';
import type { ContainerCompute, Containers, OpenContainer } from '../containers.ts';
import { type ToolCallContext, ToolError } from '../server-tool.ts';
import { chooseContainerId } from './container-id.ts';
import { type ContainerEnvironment, readNetwork } from './environment.ts';

/** Seconds that a container may take to start, besides its commands. */
const START_SECONDS = 60;

/** The service of the ledger lines. */
const SERVICE = 'sandbox';

/** The state that the calls of a tool in a response share. */
interface SharedCalls {
  /** Ends when the calls so far have ended. */
  queue?: Promise<unknown>;
  /** Ids after a restart, by the id before it. */
  restarted?: Map<string, string>;
}

/** The container of one call. */
export interface CallContainer {
  readonly compute: ContainerCompute;
  readonly environment: ContainerEnvironment | undefined;
  /** Maximum duration of its commands together. */
  readonly maxMs: number;
}

/**
 * Returns the id of the container that a call uses.
 *
 * @see docs/reference/tools/shell.md#the-container
 */
export function findContainerId(context: ToolCallContext, environment: ContainerEnvironment | undefined): string {
  const id = chooseContainerId(environment, context);
  return (context.memory as SharedCalls).restarted?.get(id) ?? id;
}

/** Replaces the container for the later calls of the tool in the response. @returns the id of the new one */
export function restartContainer(context: ToolCallContext, environment: ContainerEnvironment | undefined): string {
  const shared = context.memory as SharedCalls;
  const first = chooseContainerId(environment, context);
  shared.restarted ??= new Map();
  const id = nameRestarted(first, randomText(NONCE_LENGTH).toLowerCase());
  shared.restarted.set(first, id);
  return id;
}

/**
 * Runs work after the earlier calls of the tool in the response, because a call may need the files of the one before.
 *
 * @throws the reason of the cancellation if it happens before the work begins
 */
export function inOrder<T>({ memory, signal }: ToolCallContext, work: () => Promise<T>): Promise<T> {
  const shared = memory as SharedCalls;
  const begin = (): Promise<T> => {
    signal.throwIfAborted();
    return work();
  };
  const working = (shared.queue ?? Promise.resolve()).then(begin, begin);
  shared.queue = working;
  return working;
}

/**
 * Opens the container of a call, and charges the seconds that it is used. A call that is cancelled is charged until
 * then.
 *
 * @throws {ToolError} if it cannot run
 * @throws {GatewayError} if it runs with another network policy, or the price exceeds a limit
 */
export async function runInContainer<T>(
  containers: Containers,
  context: ToolCallContext,
  { compute, environment, maxMs }: CallContainer,
  id: string,
  work: (container: OpenContainer) => Promise<T>,
): Promise<T> {
  const { problem } = containers;
  if (problem !== undefined) throw new ToolError(problem);
  const { caller, signal } = context;
  const { perSecondNanoUsd: unitNanoUsd, minSeconds } = containers.price;
  const maxCount = Math.max(minSeconds, START_SECONDS + Math.ceil(maxMs / 1000));
  const charge = await context.charge({ name: nameCharge(compute), service: SERVICE, unitNanoUsd, maxCount });
  const meter = new Meter(charge, minSeconds);
  signal.addEventListener('abort', meter.stop, { once: true });
  try {
    signal.throwIfAborted();
    const network = readNetwork(environment);
    const fileIds = environment?.file_ids;
    const container = await containers.open(caller, {
      id,
      compute,
      signal,
      ...(network && { network }),
      ...(fileIds && fileIds.length > 0 && { fileIds }),
    });
    meter.start();
    return await work(container);
  } finally {
    signal.removeEventListener('abort', meter.stop);
    meter.stop();
  }
}

const nameCharge = (compute: ContainerCompute): string =>
  compute === 'code' ? 'code_interpreter' : compute === 'editor' ? 'text_editor' : compute;

/** Measures the seconds of one charge. */
class Meter {
  private readonly charge: Charge;
  private readonly minSeconds: number;
  private startedAt: number | undefined;

  constructor(charge: Charge, minSeconds: number) {
    this.charge = charge;
    this.minSeconds = minSeconds;
  }

  start(): void {
    this.startedAt = performance.now();
  }

  /** Settles the charge. Nothing is charged if the container did not start. Idempotent. */
  readonly stop = (): void => this.charge.settle(this.count());

  private count(): number {
    if (this.startedAt === undefined) return 0;
    const seconds = Math.ceil((performance.now() - this.startedAt) / 1000);
    return Math.min(Math.max(seconds, this.minSeconds, 1), this.charge.maxCount);
  }
}
