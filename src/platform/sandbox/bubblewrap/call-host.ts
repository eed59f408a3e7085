import { Worker } from 'node:worker_threads';
import { type CallThread, callThread } from '../../threads/thread-calls.ts';
import type { HostFunctions } from './host-thread.ts';

const entry = new URL(`./host-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

interface HostThread {
  worker: Worker;
  call: CallThread<HostFunctions>;
  /** Calls in flight. The process lives until they end. */
  calls: number;
}

let running: HostThread | undefined;

/** Calls a function of `host-thread.ts`, which all sandboxes of a process share. */
export const callHost: CallThread<HostFunctions> = async (name, ...parameters) => {
  running ??= openThread();
  const thread = running;
  if (thread.calls++ === 0) thread.worker.ref();
  try {
    return await thread.call(name, ...parameters);
  } finally {
    if (--thread.calls === 0) thread.worker.unref();
  }
};

function openThread(): HostThread {
  const worker = new Worker(entry, { env: {}, execArgv: [] });
  const { call, fail } = callThread<HostFunctions>(worker);
  const thread = { worker, call, calls: 0 };
  const end = (error: Error): void => {
    if (running === thread) running = undefined; // the next call starts another one
    fail(error);
  };
  worker.on('error', (error) => end(error as Error));
  worker.on('exit', () => end(new Error('The thread of the sandboxes has ended.')));
  worker.unref();
  return thread;
}
