import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

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

const listIds = (folder: string): number[] => {
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
    readlinkSync(`/proc/${pid}/cwd`); // the first that a process loses
    return readStartTime(pid) === startTime;
  } catch {
    return false;
  }
}

/** The processes of a sandbox as it sees them itself. The folder contains no others. */
const innerFolder = (root: number): string => `/proc/${root}/root/proc`;

/** A process with its id in the sandbox. */
export interface InnerProcess {
  id: number;
  /** Pages in memory. A page that processes share counts in each. */
  residentPages: number;
}

/**
 * Lists the processes of a sandbox, by their ids there.
 *
 * @param root process 1 of the sandbox, by its id on the host
 */
export const listInnerIds = (root: number): number[] => listIds(innerFolder(root));

/** Reads processes of a sandbox that have not ended. */
export const readInnerProcesses = (root: number, ids: readonly number[]): InnerProcess[] =>
  ids.flatMap((id) => {
    const stat = readStat(`${innerFolder(root)}/${id}`);
    return stat ? [{ id, residentPages: Number(stat[21]) }] : [];
  });

/**
 * Returns the memory of a process, where shared pages count in parts. It costs much more than `residentPages`.
 *
 * @returns undefined if the process does not let us read it
 */
export function readProportionalBytes(root: number, id: number): number | undefined {
  const text = readText(`${innerFolder(root)}/${id}/smaps_rollup`);
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

interface HostProcess {
  pid: number;
  parent: number;
  session: number;
}

/** All processes of the host, which takes milliseconds. */
const listHostProcesses = (): HostProcess[] =>
  listIds('/proc').flatMap((pid) => {
    const stat = readStat(`/proc/${pid}`);
    return stat ? [{ pid, parent: Number(stat[1]), session: Number(stat[3]) }] : [];
  });

/** The id of a process in its own namespace. */
const readInnerId = (pid: number): number =>
  Number(
    readText(`/proc/${pid}/status`)
      ?.match(/^NSpid:\t(.*)$/m)?.[1]
      ?.split('\t')
      .at(-1),
  );

/** Rounds of stopping processes that create others meanwhile. */
const MAX_ROUNDS = 30;

/**
 * Kills all processes of a command's session. It stops them first, so that none can create another one meanwhile.
 *
 * @param root process 1 of the sandbox
 * @param waiter the process that waits for the session's leader, by its id in the sandbox
 * @returns whether all were found
 */
export function killSession(root: number, waiter: number): boolean {
  const all = listHostProcesses();
  const waiting = all.find(({ pid, parent }) => parent === root && readInnerId(pid) === waiter);
  const leader = all.find(({ parent }) => parent === waiting?.pid);
  if (!leader) return true;
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = listHostProcesses().filter(({ pid, session }) => session === leader.pid && !stopped.has(pid));
    if (found.length === 0) {
      for (const pid of stopped) sendSignal(pid, 'SIGKILL');
      return true;
    }
    for (const { pid } of found) {
      sendSignal(pid, 'SIGSTOP');
      stopped.add(pid);
    }
  }
  return false;
}
