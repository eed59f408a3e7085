import { fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { type Channel, channelToWorker } from './channel.ts';

/** A child process. */
export interface Forked {
  readonly pid: number;
  readonly channel: Channel;
  /** Sends a connection. This process keeps its end open, because a worker may die before it gets the connection. */
  sendConnection(number: number, socket: Socket): void;
  /** Resolves when the process has ended: `code 1`, `SIGKILL`. */
  readonly ended: Promise<string>;
  /** Disconnects from the process. A worker that has closed then ends. */
  release(): void;
  kill(): void;
}

const ignore = (): void => {};

/**
 * Creates a function that forks workers of one program. Kills all of them when this process exits for any reason.
 *
 * @param script the program
 */
export function createForker(script: string): () => Forked {
  const living = new Set<Forked>();
  process.on('exit', () => {
    for (const worker of living) worker.kill();
  });

  return () => {
    const child = fork(script, [], {
      serialization: 'advanced', // the default one does not support bigint
      // This process uses the inspector's port.
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
    });
    const forked: Forked = {
      pid: child.pid ?? 0,
      channel: channelToWorker(child),
      sendConnection(connection, socket) {
        if (child.connected) child.send({ connection }, socket, { keepOpen: true }, ignore);
      },
      ended: new Promise((resolve) => {
        const end = (how: string): void => {
          living.delete(forked);
          resolve(how);
        };
        child.once('exit', (code, signal) => end(signal ?? `code ${code}`));
        child.on('error', (error) => child.pid === undefined && end(error.message)); // otherwise its exit reports it
      }),
      release() {
        if (child.connected) child.disconnect();
      },
      kill: () => void child.kill('SIGKILL'),
    };
    living.add(forked);
    return forked;
  };
}
