import { statfsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SandboxLimits, SandboxProblem } from '../sandbox.ts';
import { measureTree } from './find-entries.ts';
import {
  countSockets,
  type InnerProcess,
  listInnerIds,
  readInnerProcesses,
  readProportionalBytes,
} from './process-tree.ts';

const PAGE_BYTES = 4096;
/** Kernel memory of a socket whose buffers are full. */
const SOCKET_BYTES = 212_992;
const MEMORY_CHECK_MS = 100;
const IDLE_CHECK_MS = 1000;
const DISK_CHECK_MS = 1000;
const FREE_CHECK_MS = 200;
/** A check may take this part of the time: the next one waits as many times as long as it took. */
const MEMORY_BACKOFF = 50;
const DISK_BACKOFF = 10;
/** A disk with less free space ends every sandbox that uses more than `SMALL_BYTES` of it. */
const RESERVED_BYTES = 268_435_456;
const SMALL_BYTES = 16_777_216;

export interface Supervised {
  limits: SandboxLimits;
  /** Process 1, by its id on the host. */
  root: number;
  /** Path of the open home folder. */
  home: string;
  /** Whether the kernel limits the memory. */
  hasMemoryLimit: boolean;
  /** Whether a command is running. */
  isBusy: () => boolean;
  end: (problem: SandboxProblem, message: string) => void;
}

/**
 * Ends a sandbox that exceeds a limit for which the kernel has none. Checks cost time, so they come in intervals, and a
 * sandbox can exceed a limit for that long.
 */
export class Supervisor {
  readonly #of: Supervised;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #isClosed = false;
  #isMeasuring = false;
  #usedBytes = 0;
  #freeAfterWalk: number;

  constructor(supervised: Supervised) {
    this.#of = supervised;
    this.#freeAfterWalk = readFreeBytes(supervised.home);
    void this.#watchMemory();
    this.#watchFree();
    this.#repeat('disk', DISK_CHECK_MS, () => void this.#watchDisk());
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #repeat(name: string, delayMs: number, check: () => void): void {
    if (this.#isClosed) return;
    this.#timers.set(name, setTimeout(check, delayMs).unref());
  }

  #end(problem: SandboxProblem, message: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#of.end(problem, message);
  }

  async #watchMemory(): Promise<void> {
    const startedMs = performance.now();
    const { limits, root, hasMemoryLimit, isBusy } = this.#of;
    const usedBytes = hasMemoryLimit ? 0 : await this.#measureMemory();
    if (usedBytes > limits.memoryBytes) {
      this.#end('memory', `The sandbox used more than ${limits.memoryBytes} bytes of memory.`);
      return;
    }
    if (countTemporaryFiles(root) > limits.diskEntries) {
      this.#end('disk', `The sandbox had more than ${limits.diskEntries} files in /tmp or /dev/shm.`);
      return;
    }
    const tookMs = performance.now() - startedMs;
    this.#repeat(
      'memory',
      Math.max(isBusy() ? MEMORY_CHECK_MS : IDLE_CHECK_MS, MEMORY_BACKOFF * tookMs),
      () => void this.#watchMemory(),
    );
  }

  /** choice 492 */
  async #measureMemory(): Promise<number> {
    const { limits, root } = this.#of;
    const processes: InnerProcess[] = [];
    for (const ids of splitInBatches(listInnerIds(root))) {
      processes.push(...readInnerProcesses(root, ids));
      await nextTurn();
    }
    const sockets = countSockets(root) * SOCKET_BYTES;
    const most = processes.reduce((sum, { residentPages }) => sum + residentPages * PAGE_BYTES, sockets);
    if (most <= limits.memoryBytes) return most;
    let sum = sockets;
    for (const { id, residentPages } of processes) {
      sum += readProportionalBytes(root, id) ?? residentPages * PAGE_BYTES;
      await nextTurn();
    }
    return sum;
  }

  /** Measures the home folder early if the disk fills fast. */
  #watchFree(): void {
    const free = readFreeBytes(this.#of.home);
    if (free < RESERVED_BYTES && this.#usedBytes > SMALL_BYTES) {
      this.#end('disk', 'The disk of the gateway is almost full.');
      return;
    }
    const couldExceed = this.#freeAfterWalk - free > this.#of.limits.diskBytes - this.#usedBytes;
    if (couldExceed || free < RESERVED_BYTES) void this.#watchDisk();
    this.#repeat('free', FREE_CHECK_MS, () => this.#watchFree());
  }

  async #watchDisk(): Promise<void> {
    if (this.#isMeasuring || this.#isClosed) return;
    this.#isMeasuring = true;
    const startedMs = performance.now();
    const { limits, home } = this.#of;
    const free = readFreeBytes(home);
    const { bytes, entries } = await measureTree(home, { bytes: limits.diskBytes, entries: limits.diskEntries }).catch(
      () => ({ bytes: this.#usedBytes, entries: 0 }),
    );
    this.#isMeasuring = false;
    this.#usedBytes = bytes;
    this.#freeAfterWalk = free;
    if (bytes > limits.diskBytes) {
      this.#end('disk', `The home folder of the sandbox had more than ${limits.diskBytes} bytes.`);
      return;
    }
    if (entries > limits.diskEntries) {
      this.#end('disk', `The home folder of the sandbox had more than ${limits.diskEntries} files and folders.`);
      return;
    }
    clearTimeout(this.#timers.get('disk'));
    const tookMs = performance.now() - startedMs;
    const restMs = this.#of.isBusy() ? DISK_CHECK_MS : 10 * DISK_CHECK_MS;
    this.#repeat('disk', Math.max(restMs, DISK_BACKOFF * tookMs), () => void this.#watchDisk());
  }
}

/** Processes that are looked at before the gateway does something else. */
const BATCH = 16;

function* splitInBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += BATCH) yield all.slice(start, start + BATCH);
}

const readFreeBytes = (path: string): number => {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
};

/** Empty files take memory of the kernel, which the size of a file system in memory does not limit. */
const countTemporaryFiles = (root: number): number =>
  ['/tmp', '/dev/shm'].reduce((sum, path) => {
    try {
      const { files, ffree } = statfsSync(`/proc/${root}/root${path}`);
      return sum + files - ffree;
    } catch {
      return sum;
    }
  }, 0);
