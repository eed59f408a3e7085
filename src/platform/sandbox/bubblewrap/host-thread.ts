import { parentPort } from 'node:worker_threads';
import { serveThread } from '../../threads/thread-calls.ts';
import { checkProcesses } from './check-processes.ts';
import { measureTree } from './find-entries.ts';
import { createPipes, removeFolder } from './host-programs.ts';
import { killSession } from './process-tree.ts';
import { awaitBubblewrapExit, killBubblewrap, runScript, startBubblewrap } from './run-bubblewrap.ts';
import { useSandboxCpus } from './sandbox-cpus.ts';

/*
 * The thread for work on the host that takes long while commands use the CPU: the start of a program waits until the
 * program has the CPU, and the processes of a fork bomb are many. It leaves a CPU to the thread that serves requests.
 */

const functions = {
  startBubblewrap,
  runScript,
  killBubblewrap,
  awaitBubblewrapExit,
  checkProcesses,
  killSession,
  createPipes,
  measureTree,
  removeFolder,
};

export type HostFunctions = typeof functions;

await useSandboxCpus(); // before it starts a program
serveThread(parentPort!, functions); // this module is the entry of a worker
