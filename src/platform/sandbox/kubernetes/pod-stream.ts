import { setTimeout as delay } from 'node:timers/promises';
import type { WebSocket } from 'undici';
import type { ProcessListener, RemoteProcess } from '../remote/remote-process.ts';

/** The first byte of a message. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
/** Bytes that wait in memory before a write waits for them. */
const MAX_BUFFERED = 4 * 1024 * 1024;
const DRAIN_MS = 10;

/**
 * Reads and writes the stream of a process in a pod.
 *
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
 */
export function openPodStream(socket: WebSocket, listener: ProcessListener): RemoteProcess {
  socket.addEventListener('message', ({ data }) => {
    if (!(data instanceof ArrayBuffer) || data.byteLength === 0) return;
    const message = Buffer.from(data);
    if (message[0] === STDOUT) listener.output('stdout', message.subarray(1));
    else if (message[0] === STDERR) listener.output('stderr', message.subarray(1));
    else if (message[0] === STATUS) socket.close(); // the process has ended
  });
  let isClosed = false;
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    listener.closed();
  };
  socket.addEventListener('close', close);
  return {
    async write(bytes) {
      if (socket.readyState !== socket.OPEN) throw new Error('The stream has ended.');
      socket.send(Buffer.concat([Buffer.of(STDIN), bytes]));
      while (socket.bufferedAmount > MAX_BUFFERED && socket.readyState === socket.OPEN) await delay(DRAIN_MS);
    },
    close() {
      socket.close();
    },
  };
}
