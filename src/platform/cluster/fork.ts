import { fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { type Channel, channelToWorker } from './channel.ts';

/** A process of ours. */
export interface Forked {
  readonly pid: number;
  readonly channel: Channel;
  /** Sends a connection. This process keeps its own end of it open: whoever dies may not have seen it. */
  sendConnection(number: number, socket: Socket): void;
  /** Resolves when it has ended: `code 1`, `SIGKILL`. */
  readonly ended: Promise<string>;
  /** Lets go of it: a worker that has closed ends by that. */
  release(): void;
  kill(): void;
}

const ignore = (): void => {};

/**
 * Makes workers of one program. All are killed when this process exits, however that comes.
 *
 * @param script what they run
 */
export function createForker(script: string): () => Forked {
  const living = new Set<Forked>();
  process.on('exit', () => {
    for (const worker of living) worker.kill();
  });

  return () => {
    const child = fork(script, [], {
      serialization: 'advanced', // the plain one knows no bigint
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')), // the port is ours
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
        child.on('error', (error) => child.pid === undefined && end(error.message)); // else its end tells
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
