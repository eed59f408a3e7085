import type { ChildProcess } from 'node:child_process';

/** What two processes talk through: whole messages, in order, as structured clones (`bigint`, `Map`, bytes). */
export interface Channel {
  /** @throws when the message holds what cannot be cloned: a function, say */
  send(message: unknown): void;
  /** Called with each message that comes. Those that came before are not lost. */
  onMessage(take: (message: unknown) => void): void;
  /** Called once, when the other side is gone. */
  onClose(tell: () => void): void;
}

/** What is sent over a channel that is closing is lost; `onClose` tells it, not an error of each message. */
const ignore = (): void => {};

/**
 * The way of a worker to its primary.
 *
 * @throws when this process was not forked by one
 */
export function channelToPrimary(): Channel {
  if (!process.send) throw new Error('This program is started by "headgate start --workers", not by hand.');
  return {
    send: (message) => void process.send?.(message, undefined, undefined, ignore),
    onMessage: (take) => void process.on('message', take),
    onClose: (tell) => void process.once('disconnect', tell),
  };
}

/** The way of the primary to one of its workers. */
export function channelToWorker(worker: ChildProcess): Channel {
  return {
    send: (message) => void (worker.connected && worker.send(message as object, ignore)),
    onMessage: (take) => void worker.on('message', take),
    onClose(tell) {
      let told = false;
      const reportOnce = (): void => {
        if (!told) tell();
        told = true;
      };
      worker.once('disconnect', reportOnce);
      worker.once('exit', reportOnce); // killed: the channel may report its end later, or not at all
    },
  };
}
