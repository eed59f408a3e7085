import { randomUUID } from 'node:crypto';
import type { Caller } from '../domain/caller.ts';
import { GatewayError } from '../domain/errors.ts';
import { createTimedId } from '../domain/ids.ts';
import { type ContainerPlace, placeContainer } from '../management/containers/container-place.ts';
import { type Sandbox, SandboxError } from '../platform/sandbox/sandbox.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { ContainerLease, ContainerRecord } from '../platform/storage/ports/containers.ts';
import type { ContainerRequest, NetworkPolicy } from '../tools/containers.ts';
import { REQUEST_CONTAINER } from '../tools/container-calls/container-id.ts';
import { ToolError } from '../tools/server-tool.ts';
import type { ContainersParts } from './container-parts.ts';
import { HomeSync, SaveRefusedError } from './home-sync.ts';
import { defaultLeaseTimes, freeTopic, LeaseKeeper, stopTopic, yieldTopic } from './leases.ts';
import { WarmSandbox } from './warm-sandbox.ts';

/** A sandbox that is idle for this long stops if another one needs its place. */ // choice 504
const YIELD_MS = 30_000;
/** Time that other processes have to give a place up. */
const YIELD_WAIT_MS = 2000;
/** Time between two attempts to get the lease of a sandbox of another process. */
const RETRY_MS = 500;
/** Maximum wait for a sandbox of another process: the longest command, and its save. */
const MAX_WAIT_MS = 360_000;

/** A policy as text, the same for the same hosts in any order. Empty: no network. */
export const writePolicy = (network: NetworkPolicy | undefined): string =>
  [...new Set(network?.allowedDomains)].sort().join(',');

/** A sandbox that is running or starting. */
interface Slot {
  holder: string;
  policy: string;
  starting: Promise<WarmSandbox>;
  warm: WarmSandbox | undefined;
  /** Callers that wait for the start. */
  waiting: number;
  /** Ends the start when no caller waits for it. */
  abandoned: AbortController;
}

/** The sandboxes of a process. */
export class Sandboxes {
  private readonly parts: ContainersParts;
  private readonly leases: LeaseKeeper;
  private readonly slots = new Map<string, Slot>();
  /** Sandboxes that are being stopped. */
  private readonly ending = new Set<WarmSandbox>();
  private readonly unsubscribe: () => void;
  private isClosed = false;

  constructor(parts: ContainersParts) {
    this.parts = parts;
    this.leases = new LeaseKeeper(parts);
    this.unsubscribe = parts.bus.subscribe(yieldTopic, (holder) => {
      void this.stopIdle((warm) => warm.parts.holder === holder);
    });
  }

  get running(): number {
    return this.slots.size + this.ending.size;
  }

  /**
   * Starts the sandbox of a container, or finds it running.
   *
   * @throws {GatewayError} `conflict` if it runs with another network policy
   */
  async open(caller: Caller, request: ContainerRequest): Promise<WarmSandbox> {
    const { id, compute, network, signal } = request;
    const place = placeContainer(caller, id, this.parts.settings().owner);
    const name = JSON.stringify([place.workspaceId, place.storedId, compute]);
    const policy = writePolicy(network);
    for (;;) {
      signal.throwIfAborted();
      if (this.isClosed) throw new ToolError('The gateway is shutting down.');
      let slot = this.slots.get(name);
      if (!slot) {
        const ending = [...this.ending].find((warm) => !warm.isReleased && isSame(warm, place, compute));
        if (ending) {
          await untilAborted(ending.released, signal);
          continue;
        }
        await this.makeRoom();
        if (this.slots.has(name)) continue;
        slot = this.begin(name, caller, place, request, policy);
      }
      if (slot.policy !== policy) throw conflict(id);
      if (slot.abandoned.signal.aborted && !slot.warm) {
        // Its last caller has just left, so this start ends. The next one is for this caller.
        await untilAborted(slot.starting.then(ignore, ignore), signal);
        continue;
      }
      slot.waiting++;
      let warm: WarmSandbox;
      try {
        warm = await untilAborted(slot.starting, signal);
      } finally {
        if (--slot.waiting === 0) slot.abandoned.abort();
      }
      if (warm.isUsable) return warm;
      await untilAborted(warm.released, signal);
    }
  }

  /** Saves and stops all sandboxes. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.unsubscribe();
    for (const slot of this.slots.values()) slot.abandoned.abort();
    const all = [...this.slots.values()].map(async ({ starting }) =>
      (await starting.catch(() => undefined))?.stop('now'),
    );
    await Promise.all(all);
    await Promise.all([...this.ending].map(({ stopped }) => stopped));
    this.leases.close();
  }

  private begin(name: string, caller: Caller, place: ContainerPlace, request: ContainerRequest, policy: string): Slot {
    const abandoned = new AbortController();
    const holder = caller.memberId === null ? `workspace:${caller.workspaceId}` : `member:${caller.memberId}`;
    const remove = (): void => {
      if (this.slots.get(name) === slot) this.slots.delete(name);
    };
    const starting = this.start(place, request, { policy, holder }, abandoned.signal, (warm) => {
      remove();
      this.ending.add(warm);
      void warm.stopped.then(() => this.ending.delete(warm));
    });
    const slot: Slot = { holder, policy, starting, warm: undefined, waiting: 0, abandoned };
    this.slots.set(name, slot);
    starting.then((warm) => {
      slot.warm = warm;
    }, remove);
    return slot;
  }

  private async start(
    place: ContainerPlace,
    { compute, network }: ContainerRequest,
    { policy, holder }: { policy: string; holder: string },
    abandoned: AbortSignal,
    onEnding: (warm: WarmSandbox) => void,
  ): Promise<WarmSandbox> {
    const { driver, store, settings, now, counts, log, openEgress, objects, waitForSave } = this.parts;
    const { workspaceId } = place;
    const token = randomUUID();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => this.leases.release(token));
    const container = await this.acquire(place, { compute, policy, holder, token }, abandoned);
    const allowedDomains = network?.allowedDomains ?? [];
    if (allowedDomains.length > 0 && !openEgress) {
      throw new ToolError('Containers of this gateway have no network. Remove network_policy.');
    }
    const name = `${container.key}-${compute}-${token.slice(0, 8)}`;
    let sandbox: Sandbox;
    let home: HomeSync;
    let egress: Awaited<ReturnType<NonNullable<typeof openEgress>>> | undefined;
    try {
      egress = allowedDomains.length > 0 ? await openEgress?.({ name, workspaceId, allowedDomains }) : undefined;
      if (egress) cleanup.defer(egress.close);
      const { limits } = settings();
      sandbox = await driver!.start({ name, limits, ...(egress && { network: egress.network }) });
      cleanup.defer(() => sandbox.stop());
      home = new HomeSync({
        store,
        objects,
        sandbox,
        containerKey: container.key,
        token,
        now,
        limits: () => ({ bytes: settings().limits.diskBytes, entries: settings().limits.diskEntries }),
      });
      await home.restore(container.version);
      if (container.version === 0) await this.adoptEarlier(place, home);
    } catch (error) {
      counts.failed('start');
      log('sandbox start failed', { container: container.id, workspace_id: workspaceId, err: error });
      if (error instanceof GatewayError || error instanceof SandboxError) {
        throw new ToolError(`The container cannot start: ${error.message}`, { cause: error });
      }
      throw error;
    }
    abandoned.throwIfAborted();
    counts.started();
    cleanup.move(); // the sandbox stays
    return new WarmSandbox({
      container,
      compute,
      token,
      policy,
      holder,
      sandbox,
      home,
      settings,
      log,
      counts,
      onEnding,
      leases: this.leases,
      ...(waitForSave && { waitForSave }),
      closeEgress: egress && (() => egress.close()),
    });
  }

  /**
   * Copies the files that the caller has seen under the id so far: those of a container of the workspace, from the time
   * before containers had owners or the setting was changed.
   */
  private async adoptEarlier({ workspaceId, earlierId }: ContainerPlace, home: HomeSync): Promise<void> {
    const earlier = earlierId && (await callStore(() => this.parts.store.findContainer(workspaceId, earlierId)));
    if (!earlier || earlier.version === 0) return;
    try {
      await home.adopt(earlier.key);
    } catch (error) {
      if (!(error instanceof SaveRefusedError)) throw error;
      // The next save tells the model why.
    }
  }

  /** Gets the lease of a sandbox. Asks another process that has it to stop. */
  private async acquire(
    { workspaceId, containerId, storedId }: ContainerPlace,
    lease: Pick<ContainerLease, 'token' | 'compute' | 'policy' | 'holder'>,
    abandoned: AbortSignal,
  ): Promise<ContainerRecord> {
    const { store, settings, now, bus } = this.parts;
    const { validMs } = this.parts.leaseTimes ?? defaultLeaseTimes;
    const startedAt = performance.now();
    for (;;) {
      abandoned.throwIfAborted();
      const container = await callTool(() => store.useContainer(workspaceId, storedId, createTimedId(''), now()));
      if (!container) throw new ToolError('The workspace does not exist.');
      const { maxRunning } = settings();
      const startedAtMs = now();
      const times = { startedAtMs, untilMs: startedAtMs + validMs };
      const refusal = await callTool(() =>
        store.acquireLease({ ...lease, ...times, containerKey: container.key, maxHeld: maxRunning }),
      );
      if (!refusal) {
        // A sandbox that stops right after this has a newer version.
        this.leases.add(lease.token, { onStop: () => {} });
        return (await callTool(() => store.findContainer(workspaceId, storedId))) ?? container;
      }
      if (refusal.reason === 'limit') {
        if (await this.stopIdle((warm) => warm.parts.holder === lease.holder)) continue;
        const others = refusal.leases.map(({ token }) => token).filter((token) => !this.leases.has(token));
        const freed = others.length > 0 && this.waitUntilFree(others, YIELD_WAIT_MS, abandoned);
        bus.publish(yieldTopic, lease.holder);
        if (await freed) continue;
        throw new ToolError(
          `${refusal.leases.length} containers are running, and no more are allowed at once (tools.sandbox.max_running). Use a container that is running, or wait until one stops.`,
        );
      }
      if (refusal.reason === 'gone') continue; // it was removed just now; create it again
      const { token, policy } = refusal.lease;
      if (policy !== lease.policy) throw conflict(containerId);
      if (performance.now() - startedAt > MAX_WAIT_MS) {
        throw new ToolError('Another process of the gateway is using the container. Try again later.');
      }
      const freed = this.waitUntilFree([token], RETRY_MS, abandoned);
      await callTool(() => store.requestStop(token, 'idle'));
      bus.publish(stopTopic, { token, stop: 'idle' });
      await freed;
    }
  }

  /** Waits until one of the leases is released, at most for a while, because the message can be lost. @returns whether it was */
  private waitUntilFree(tokens: readonly string[], ms: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ms);
    const unsubscribe = this.parts.bus.subscribe(freeTopic, (freed) => void (tokens.includes(freed) && resolve(true)));
    const onAbort = (): void => resolve(false);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise.finally(() => {
      clearTimeout(timer);
      unsubscribe();
      signal.removeEventListener('abort', onAbort);
    });
  }

  /** @throws {ToolError} if this process has too many sandboxes */
  private async makeRoom(): Promise<void> {
    const { maxRunningTotal } = this.parts.settings();
    while (this.running >= maxRunningTotal) {
      if (await this.stopIdle(() => true)) continue;
      throw new ToolError(
        `The gateway runs ${this.running} containers, and no more are allowed at once (tools.sandbox.max_running_total). Try again later.`,
      );
    }
  }

  /** Stops the sandbox that is idle for the longest time. @returns whether there was one */
  private async stopIdle(mayStop: (warm: WarmSandbox) => boolean): Promise<boolean> {
    const ending = [...this.ending].find(mayStop);
    const { yieldMs = YIELD_MS } = this.parts;
    const canYield = ({ idleMs, parts }: WarmSandbox): boolean =>
      idleMs > 0 && (idleMs >= yieldMs || parts.container.id.startsWith(REQUEST_CONTAINER));
    const idle = [...this.slots.values()]
      .flatMap(({ warm }) => (warm?.isUsable && canYield(warm) && mayStop(warm) ? [warm] : []))
      .sort((a, b) => b.idleMs - a.idleMs);
    const found = ending ?? idle[0];
    await (ending ? ending.stopped : found?.stop('idle'));
    return found !== undefined;
  }
}

/** The message of a request whose network policy is not that of the running container. */
export const describeConflict = (id: string): string =>
  `The container ${id} is running with another network_policy, which is fixed while it runs. Send the same one, use another container, or wait until the container stops.`;

const conflict = (id: string): GatewayError => new GatewayError('conflict', describeConflict(id));

const isSame = ({ parts }: WarmSandbox, { workspaceId, storedId }: ContainerPlace, compute: string): boolean =>
  parts.container.workspaceId === workspaceId && parts.container.id === storedId && parts.compute === compute;

const ignore = (): void => {};

/** Calls the store. @throws {ToolError} if it fails */
async function callTool<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await callStore(call);
  } catch (error) {
    if (error instanceof GatewayError) throw new ToolError(error.message, { cause: error });
    throw error;
  }
}

/** Waits for work, which continues if the signal is aborted. @throws the reason of the signal */
function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
