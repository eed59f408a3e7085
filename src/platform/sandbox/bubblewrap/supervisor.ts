import { statfs } from 'node:fs/promises';
import type { SandboxLimits, SandboxProblem } from '../sandbox.ts';
import { callHost } from './call-host.ts';
import type { HomeFolder } from './home-folder.ts';

const MEMORY_CHECK_MS = 100;
const IDLE_CHECK_MS = 1000;
const LEFTOVERS_CHECK_MS = 500;
const DISK_CHECK_MS = 1000;
const FREE_CHECK_MS = 200;
/** A check may take this part of the time: the next one waits as many times as long as it took. */
const MEMORY_BACKOFF = 50;
const DISK_BACKOFF = 10;
const LEFTOVERS_BACKOFF = 20;
const MAX_LEFTOVERS_MS = 3000;
/** A disk with less free space ends every sandbox that uses more than `SMALL_BYTES` of it. */
const RESERVED_BYTES = 268_435_456;
const SMALL_BYTES = 16_777_216;

export interface Supervised {
  limits: SandboxLimits;
  /** Process 1, by its id on the host. */
  root: number;
  home: HomeFolder;
  /** Whether the kernel limits the memory. */
  hasMemoryLimit: boolean;
  /** Whether a command is running. */
  isBusy: () => boolean;
  end: (problem: SandboxProblem, message: string) => void;
  /** Called after processes that ended commands had left were killed, because they used up the limit. */
  onKilled: () => void;
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
  #freeAfterWalk = 0;
  /** Before then, a check of the memory would take too large a part of the time. */
  #nextMemoryCheckMs = 0;

  constructor(supervised: Supervised) {
    this.#of = supervised;
    void this.#watchMemory();
    void this.#watchLeftovers();
    void this.#openDisk();
  }

  /** Checks the memory soon, because a command begins. */
  wake(): void {
    if (this.#timers.has('memory')) this.#repeatMemory(MEMORY_CHECK_MS);
  }

  async #openDisk(): Promise<void> {
    this.#freeAfterWalk = await readFreeBytes(this.#of.home.path);
    void this.#watchFree();
    this.#repeat('disk', DISK_CHECK_MS, () => void this.#watchDisk());
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #repeat(name: string, delayMs: number, check: () => void): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timers.get(name));
    this.#timers.set(name, setTimeout(check, delayMs).unref());
  }

  #end(problem: SandboxProblem, message: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#of.end(problem, message);
  }

  async #watchMemory(): Promise<void> {
    const { limits, root, hasMemoryLimit, isBusy } = this.#of;
    const use = await callHost('checkProcesses', root, hasMemoryLimit ? undefined : limits.memoryBytes).catch(
      () => undefined, // the process of the sandboxes has ended; the next check starts another one
    );
    if (use && use.memoryBytes > limits.memoryBytes) {
      this.#end('memory', `The sandbox used more than ${limits.memoryBytes} bytes of memory.`);
      return;
    }
    if (use && use.temporaryFiles > limits.diskEntries) {
      this.#end('disk', `The sandbox had more than ${limits.diskEntries} files in /tmp or /dev/shm.`);
      return;
    }
    this.#nextMemoryCheckMs = performance.now() + Math.min(MEMORY_BACKOFF * (use?.tookMs ?? 0), IDLE_CHECK_MS);
    this.#repeatMemory(isBusy() ? MEMORY_CHECK_MS : IDLE_CHECK_MS);
  }

  #repeatMemory(delayMs: number): void {
    const restMs = this.#nextMemoryCheckMs - performance.now();
    this.#repeat('memory', Math.max(delayMs, restMs), () => {
      this.#timers.delete('memory');
      void this.#watchMemory();
    });
  }

  /** It does not wait for the measurement of memory, which the processes can delay. */
  async #watchLeftovers(): Promise<void> {
    const { limits, root, onKilled } = this.#of;
    const found = await callHost('limitLeftovers', root, limits.processes).catch(() => undefined); // as above
    if (found?.isKilled) onKilled();
    const delayMs = Math.max(LEFTOVERS_CHECK_MS, LEFTOVERS_BACKOFF * (found?.tookMs ?? 0));
    this.#repeat('leftovers', Math.min(delayMs, MAX_LEFTOVERS_MS), () => void this.#watchLeftovers());
  }

  /** Measures the home folder early if the disk fills fast. */
  async #watchFree(): Promise<void> {
    const free = await readFreeBytes(this.#of.home.path);
    if (free < RESERVED_BYTES && this.#usedBytes > SMALL_BYTES) {
      this.#end('disk', 'The disk of the gateway is almost full.');
      return;
    }
    const couldExceed = this.#freeAfterWalk - free > this.#of.limits.diskBytes - this.#usedBytes;
    if (couldExceed || free < RESERVED_BYTES) void this.#watchDisk();
    this.#repeat('free', FREE_CHECK_MS, () => void this.#watchFree());
  }

  async #watchDisk(): Promise<void> {
    if (this.#isMeasuring || this.#isClosed) return;
    this.#isMeasuring = true;
    const startedMs = performance.now();
    const { limits, home } = this.#of;
    const free = await readFreeBytes(home.path);
    if (this.#isClosed) return;
    let size = { bytes: this.#usedBytes, entries: 0 };
    try {
      size = await home.measure({ bytes: limits.diskBytes, entries: limits.diskEntries });
    } catch (error) {
      if (error instanceof RangeError) {
        this.#end('disk', `The home folder of the sandbox cannot be measured: ${error.message}.`);
        return;
      }
    }
    const { bytes, entries } = size;
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

async function readFreeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
