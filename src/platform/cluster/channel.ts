import type { ChildProcess } from 'node:child_process';

/**
 * A channel between two processes. Delivers whole messages, in order, as structured clones (`bigint`, `Map`, bytes).
 */
export interface Channel {
  /** @throws if the message contains a value that cannot be cloned, such as a function */
  send(message: unknown): void;
  /** Called with each message, including messages that arrived before this call. */
  onMessage(take: (message: unknown) => void): void;
  /** Called once, when the other end has closed. */
  onClose(tell: () => void): void;
}

/** Messages sent over a closing channel are lost. `onClose` reports that once, instead of an error per message. */
const ignore = (): void => {};

/**
 * Returns the channel of a worker to its primary.
 *
 * @throws if no primary forked this process
 */
export function channelToPrimary(): Channel {
  if (!process.send) throw new Error('This program is started by "headgate start --workers", not by hand.');
  return {
    send: (message) => void process.send?.(message, undefined, undefined, ignore),
    onMessage: (take) => void process.on('message', take),
    onClose: (tell) => void process.once('disconnect', tell),
  };
}

/** Returns the channel of the primary to one of its workers. */
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
      worker.once('exit', reportOnce); // if the worker was killed, the channel may report its end later, or not at all
    },
  };
}
