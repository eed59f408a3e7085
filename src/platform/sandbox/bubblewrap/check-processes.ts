import { statfs } from 'node:fs/promises';
import {
  countSockets,
  innerFolder,
  type InnerProcess,
  listInnerProcesses,
  readProportionalBytes,
} from './process-tree.ts';
import { lowerSession } from './session-priority.ts';

const PAGE_BYTES = 4096;
/** Kernel memory of a socket whose buffers are full. */
const SOCKET_BYTES = 212_992;

/** Resources that the processes of a sandbox use. */
export interface ProcessUse {
  memoryBytes: number;
  /** Files in `/tmp` and `/dev/shm`. */
  temporaryFiles: number;
  tookMs: number;
}

/**
 * Checks the processes of a sandbox, and lowers the priority of their sessions.
 *
 * @param root process 1 of the sandbox
 * @param maxMemoryBytes the memory is exact if it is more than this; `undefined`: it is not measured
 */
export async function checkProcesses(root: number, maxMemoryBytes: number | undefined): Promise<ProcessUse> {
  const startedMs = performance.now();
  const processes = await listInnerProcesses(root);
  const memoryBytes = maxMemoryBytes === undefined ? 0 : await measureMemory(root, processes, maxMemoryBytes);
  const temporaryFiles = await countTemporaryFiles(root);
  await lowerSessions(root, processes);
  return { memoryBytes, temporaryFiles, tookMs: performance.now() - startedMs };
}

/** choice 492 */
async function measureMemory(root: number, processes: readonly InnerProcess[], maxBytes: number): Promise<number> {
  const sockets = countSockets(root) * SOCKET_BYTES;
  const most = processes.reduce((sum, { residentPages }) => sum + residentPages * PAGE_BYTES, sockets);
  if (most <= maxBytes) return most;
  let sum = sockets;
  for (const { id, residentPages } of processes) {
    sum += (await readProportionalBytes(root, id)) ?? residentPages * PAGE_BYTES;
  }
  return sum;
}

/** One process of each session stands for it: the leader can have ended. */
async function lowerSessions(root: number, processes: readonly InnerProcess[]): Promise<void> {
  for (const { id } of new Map(processes.map((one) => [one.session, one])).values()) {
    await lowerSession(`${innerFolder(root)}/${id}`);
  }
}

/** Empty files take memory of the kernel, which the size of a file system in memory does not limit. */
async function countTemporaryFiles(root: number): Promise<number> {
  let sum = 0;
  for (const path of ['/tmp', '/dev/shm']) {
    const found = await statfs(`/proc/${root}/root${path}`).catch(() => undefined); // the sandbox has ended
    if (found) sum += found.files - found.ffree;
  }
  return sum;
}
