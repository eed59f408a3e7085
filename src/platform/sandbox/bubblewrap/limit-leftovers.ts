import {
  type HostProcess,
  listIds,
  listInnerProcesses,
  MAX_ROUNDS,
  readHostProcess,
  readHostProcesses,
  sendSignal,
} from './process-tree.ts';

/** The part of the limit of processes that ended commands may leave in use. */
const MAX_LEFT_SHARE = 0.9;

/**
 * Kills the processes that ended commands of a sandbox have left, if they use up its limit: no later command could start a
 * program. Those of running commands stay.
 *
 * @param root process 1 of the sandbox
 * @param maxThreads the limit, which counts threads
 */
export async function limitLeftovers(root: number, maxThreads: number): Promise<{ isKilled: boolean; tookMs: number }> {
  const startedMs = performance.now();
  const maxLeft = maxThreads * MAX_LEFT_SHARE;
  const isKilled = countThreads(await listInnerProcesses(root)) > maxLeft && (await killLeftovers(root, maxLeft));
  return { isKilled, tookMs: performance.now() - startedMs };
}

const countThreads = (processes: readonly { threads: number }[]): number =>
  processes.reduce((sum, { threads }) => sum + threads, 0);

/** @returns whether there were more */
async function killLeftovers(root: number, maxThreads: number): Promise<boolean> {
  const stopped = new Map<number, HostProcess>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const left = await listLeftovers(root);
    if (round === 0 && countThreads(left) <= maxThreads) return false;
    const fresh = left.filter(({ pid }) => !stopped.has(pid));
    if (fresh.length === 0) break;
    for (const one of fresh) {
      sendSignal(one.pid, 'SIGSTOP'); // so that none creates another one meanwhile
      stopped.set(one.pid, one);
    }
  }
  for (const { pid, session } of stopped.values()) {
    if (readHostProcess(pid)?.session === session) sendSignal(pid, 'SIGKILL');
  }
  return true;
}

/**
 * Lists the processes of a sandbox that belong to no running command. Process 1 and the shells that wait for commands share
 * a session. The child of such a shell leads the session of its command.
 */
async function listLeftovers(root: number): Promise<HostProcess[]> {
  const children = new Map<number, HostProcess[]>();
  let first: HostProcess | undefined;
  for await (const found of readHostProcesses(listIds('/proc'))) {
    if (found.pid === root) first = found;
    const siblings = children.get(found.parent);
    if (siblings) siblings.push(found);
    else children.set(found.parent, [found]);
  }
  if (!first) return [];
  const kept = new Set([first.session]);
  const inner = [...(children.get(root) ?? [])];
  for (const { pid, session } of inner) {
    if (session === first.session) for (const leader of children.get(pid) ?? []) kept.add(leader.session);
  }
  for (let at = 0; at < inner.length; at++) inner.push(...(children.get(inner[at]!.pid) ?? [])); // `inner` grows
  return inner.filter(({ session }) => !kept.has(session));
}
