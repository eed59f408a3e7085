import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { moduleUrl } from '../../../domain/module-url.ts';
import { type CallThread, openCalls } from '../../threads/thread-calls.ts';
import type { HostFunctions } from './host-process.ts';

const entry = fileURLToPath(moduleUrl('./host-process', import.meta.url));

interface HostProcess {
  child: ChildProcess;
  call: CallThread<HostFunctions>;
  /** Calls in flight. The gateway lives until they end. */
  calls: number;
}

let running: HostProcess | undefined;

/** Calls a function of `host-process.ts`, which all sandboxes of this process share. */
export const callHost: CallThread<HostFunctions> = async (name, ...parameters) => {
  running ??= startHost();
  const host = running;
  if (host.calls++ === 0) setReferenced(host.child, true);
  try {
    return await host.call(name, ...parameters);
  } finally {
    if (--host.calls === 0) setReferenced(host.child, false);
  }
};

function startHost(): HostProcess {
  const child = fork(entry, [], {
    detached: true, // SIGINT of the terminal would end it before the last save
    env: {},
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { call, fail } = openCalls<HostFunctions>({
    on: (_, listener) => child.on('message', listener),
    postMessage: (message) => void child.send(message as object, () => {}), // its end is reported below
  });
  const host = { child, call, calls: 0 };
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  const end = (error: Error): void => {
    process.off('exit', kill);
    if (running === host) running = undefined; // the next call starts another one
    fail(error);
  };
  child.on('error', end);
  child.on('exit', () => end(new Error('The process of the sandboxes has ended.')));
  setReferenced(child, false);
  return host;
}

/** Whether this process lives as long as the other one. */
function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  const change = isReferenced ? 'ref' : 'unref';
  child[change]();
  child.channel?.[change]();
}
