import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum time to drain a body. */
const MAX_DRAIN_MS = 10_000;

const draining = new WeakSet<Socket>();

/** Whether the connection has an early response and its body is being drained. Later errors are then not reported. */
export const isBodyDrained = (socket: Socket): boolean => draining.has(socket);

/**
 * Drains the rest of a body. If the connection were closed while the client still sends, the client would see a reset
 * instead of the response.
 */
export function drainBody(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  draining.add(socket);
  const timer = setTimeout(() => request.destroy(), MAX_DRAIN_MS).unref();
  request.once('close', () => {
    clearTimeout(timer);
    draining.delete(socket);
  });
  request.resume();
}
