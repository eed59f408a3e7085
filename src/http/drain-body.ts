import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may go on with a body that is thrown away. */
const patienceMs = 10_000;

const heardOut = new WeakSet<Socket>();

/** Has the request on a connection been answered before it was there? Then nothing more is said of it. */
export const isBodyDrained = (socket: Socket): boolean => heardOut.has(socket);

/**
 * Throws away the rest of a body that nobody will read. A connection that is closed under a client that is still sending
 * is reset, and the client sees that in place of its answer.
 */
export function drainBody(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  heardOut.add(socket);
  const timer = setTimeout(() => socket.destroy(), patienceMs).unref();
  request.once('close', () => {
    clearTimeout(timer);
    heardOut.delete(socket);
  });
  request.resume();
}
