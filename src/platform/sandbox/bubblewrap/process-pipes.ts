import { constants, closeSync, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { joinStreams } from '../join-streams.ts';
import { inputName, pipeNames } from './agent.ts';

/**
 * Opens the pipes of a process before it opens them.
 *
 * @param begun resolves when the process has them open, or has ended. The other end of each stays open until then: a
 *   process waits for ever for the other end of a pipe
 */
export function openProcessPipes(folder: string, number: number, begun: Promise<unknown>): Duplex {
  // With both directions, the pipe opens without a reader. The process reads its end when this side is closed.
  const open = () => [
    openPipe(join(folder, inputName(number)), constants.O_RDWR),
    openPipe(join(folder, pipeNames(number).stdout), constants.O_RDONLY),
  ];
  const [input, output] = open();
  const others = open();
  void begun.then(() => {
    for (const fd of others) closeSync(fd);
  });
  return joinStreams(
    new Socket({ fd: input, readable: false, writable: true }),
    new Socket({ fd: output, readable: true, writable: false }),
  );
}

/** @throws if it is not a pipe */
function openPipe(path: string, mode: number): number {
  const fd = openSync(path, mode | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (fstatSync(fd).isFIFO()) return fd;
  closeSync(fd);
  throw new Error('a pipe of a sandbox is not a pipe');
}
