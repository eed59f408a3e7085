import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined; // it has ended, or belongs to another user
  }
};

/** The fields of `stat` after the name, which can contain anything. Index 0 is the state, the third field. */
function readStat(folder: string): string[] | undefined {
  const text = readText(`${folder}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Lists the ids of the processes of a folder of processes, such as `/proc`. */
export const listIds = (folder: string): number[] => {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
};

/**
 * When a process started, in ticks after the start of the host. With the id, it identifies a process.
 *
 * @returns undefined if it has ended, also if its parent does not know yet
 */
export function readStartTime(pid: number): string | undefined {
  const stat = readStat(`/proc/${pid}`);
  return stat && stat[0] !== 'Z' && stat[0] !== 'X' ? stat[19] : undefined;
}

/** Whether a process runs and has not begun to end. */
export function isRunning(pid: number, startTime: string | undefined): boolean {
  try {
    readlinkSync(`/proc/${pid}/cwd`); // an ending process loses it first
    return readStartTime(pid) === startTime;
  } catch {
    return false;
  }
}

/** The processes of a sandbox as it sees them itself. The folder contains no others. */
export const innerFolder = (root: number): string => `/proc/${root}/root/proc`;

/** A process with its id in the sandbox. */
export interface InnerProcess {
  id: number;
  /** Id of its session in the sandbox. */
  session: number;
  threads: number;
  /** Pages in memory. A page that processes share counts in each. */
  residentPages: number;
}

/** Number of processes that are inspected before other work of the gateway runs. */
const BATCH = 16;

function* splitInBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += BATCH) yield all.slice(start, start + BATCH);
}

/**
 * Lists the processes of a sandbox that have not ended.
 *
 * @param root process 1 of the sandbox, by its id on the host
 */
export async function listInnerProcesses(root: number): Promise<InnerProcess[]> {
  const processes: InnerProcess[] = [];
  for (const ids of splitInBatches(listIds(innerFolder(root)))) {
    for (const id of ids) {
      const stat = readStat(`${innerFolder(root)}/${id}`);
      if (stat)
        processes.push({ id, session: Number(stat[3]), threads: Number(stat[17]), residentPages: Number(stat[21]) });
    }
    await nextTurn();
  }
  return processes;
}

/**
 * Returns the memory of a process, where shared pages count in parts. It costs much more than `residentPages`, and waits
 * for a lock that the process has while it maps memory.
 *
 * @returns undefined if the process does not let us read it
 */
export async function readProportionalBytes(root: number, id: number): Promise<number | undefined> {
  const text = await readFile(`${innerFolder(root)}/${id}/smaps_rollup`, 'latin1').catch(() => undefined); // it has ended
  const sum = ['Pss', 'SwapPss'].reduce(
    (kibibytes, name) => kibibytes + Number(text?.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm'))?.[1] ?? 0),
    0,
  );
  return sum === 0 ? undefined : sum * 1024;
}

/** Sockets of all kinds in the network namespace of a process. */
export const countSockets = (root: number): number =>
  Number(readText(`/proc/${root}/net/sockstat`)?.match(/^sockets: used (\d+)$/m)?.[1] ?? 0);

/** Sends a signal, unless the process has ended. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended
  }
}

/** A process with its ids on the host. */
export interface HostProcess {
  pid: number;
  parent: number;
  session: number;
  threads: number;
}

/** @returns undefined if it has ended */
export const readHostProcess = (pid: number): HostProcess | undefined => {
  const stat = readStat(`/proc/${pid}`);
  if (!stat || stat[0] === 'Z') return undefined; // it has ended
  return { pid, parent: Number(stat[1]), session: Number(stat[3]), threads: Number(stat[17]) };
};

/** Reads processes of the host in batches, so that hundreds of them do not occupy the gateway. */
export async function* readHostProcesses(ids: readonly number[]): AsyncGenerator<HostProcess> {
  for (const batch of splitInBatches(ids)) {
    for (const pid of batch) {
      const found = readHostProcess(pid);
      if (found) yield found;
    }
    await nextTurn();
  }
}

/** The id of a process in its own namespace. */
const readInnerId = (pid: number): number =>
  Number(
    readText(`/proc/${pid}/status`)
      ?.match(/^NSpid:\t(.*)$/m)?.[1]
      ?.split('\t')
      .at(-1),
  );

/**
 * Finds the leader of a command's session: the child of the process that waits for it, or of process 1, if that process was
 * killed.
 *
 * @param inner its id in the sandbox
 */
async function findLeader(root: number, inner: number): Promise<number | undefined> {
  const parents = new Map<number, number>();
  for await (const { pid, parent } of readHostProcesses(listIds('/proc'))) parents.set(pid, parent);
  for (const [pid, parent] of parents) {
    if ((parent === root || parents.get(parent) === root) && readInnerId(pid) === inner) return pid;
  }
  return undefined;
}

/** Rounds of stopping processes that create others meanwhile. */
export const MAX_ROUNDS = 30;

/**
 * Kills all processes of a command's session, if it exists. It stops them first, so that none can create another one
 * meanwhile.
 *
 * @param root process 1 of the sandbox
 * @param inner the leader of the session, by its id in the sandbox. It may not have begun the session
 * @returns whether all were found
 */
export async function killSession(root: number, inner: number): Promise<boolean> {
  const leader = await findLeader(root, inner);
  if (leader === undefined) return true;
  const seen = new Set<number>();
  const stopped: number[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = stopped.length;
    const ids = listIds('/proc').filter((pid) => !seen.has(pid));
    for await (const { pid, session } of readHostProcesses(ids)) {
      seen.add(pid);
      if (session !== leader && pid !== leader) continue;
      sendSignal(pid, 'SIGSTOP');
      stopped.push(pid);
    }
    if (stopped.length > before) continue;
    for (const pid of stopped) {
      if (pid === leader || readHostProcess(pid)?.session === leader) sendSignal(pid, 'SIGKILL');
    }
    return true;
  }
  return false;
}
