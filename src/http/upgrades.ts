import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The connection of a request to upgrade. */
export interface Upgrade {
  socket: Socket;
  /** The bytes that followed the request. */
  head: Buffer;
}

/** Upgrades whose route has not taken the connection yet. */
const offered = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Routes a request to upgrade like all others, so that the same hooks check its key and its route, and errors are HTTP
 * responses. The handler of the route calls `takeUpgrade`.
 */
export function routeUpgrade(
  route: (request: IncomingMessage, response: ServerResponse) => void,
  request: IncomingMessage,
  duplex: Duplex,
  head: Buffer,
): void {
  const socket = duplex as Socket; // the server is no HTTP/2 server
  const response = new ServerResponse(request);
  const destroy = (): void => void socket.destroy();
  socket.on('error', destroy);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on('finish', () => socket.end());
  offered.set(request, { socket, head });
  route(request, response);
}

/** @returns undefined if the request does not upgrade its connection */
export function takeUpgrade(request: IncomingMessage): Upgrade | undefined {
  const upgrade = offered.get(request);
  offered.delete(request);
  return upgrade;
}

/** Ends the HTTP response of an upgrade, whose connection has another protocol from now on. */
export function endUpgrade(response: ServerResponse, { socket }: Upgrade): void {
  response.removeAllListeners('finish');
  response.detachSocket(socket);
  response.statusCode = 101;
  Object.defineProperty(response, 'writableFinished', { value: true }); // otherwise it counts as cancelled
  response.emit('close');
}
