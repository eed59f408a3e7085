import { serveCalls } from '../../threads/thread-calls.ts';
import { checkProcesses } from './check-processes.ts';
import { measureTree } from './find-entries.ts';
import { createPipes, removeFolder } from './host-programs.ts';
import { limitLeftovers } from './limit-leftovers.ts';
import { killSession } from './process-tree.ts';
import { awaitBubblewrapExit, killBubblewrap, runScript, startBubblewrap } from './run-bubblewrap.ts';
import { useSandboxCpus } from './sandbox-cpus.ts';

/*
 * The process that starts and watches sandboxes. It runs on the CPUs of their commands, so its work can take long. It is not
 * a thread, because a thread shares locks with the gateway: of the allocator, and of the memory map while it starts a
 * program. The gateway would wait for them. // choice 780
 */

const functions = {
  startBubblewrap,
  runScript,
  killBubblewrap,
  awaitBubblewrapExit,
  checkProcesses,
  killSession,
  limitLeftovers,
  createPipes,
  measureTree,
  removeFolder,
};

export type HostFunctions = typeof functions;

process.on('disconnect', () => process.exit()); // the gateway has ended, and all sandboxes end with this process
await useSandboxCpus(); // before it starts a program
serveCalls(
  { on: (_, listener) => process.on('message', listener), postMessage: (message) => process.send!(message) },
  functions,
);
