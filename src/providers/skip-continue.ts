import { Socket } from 'node:net';

const START = Buffer.from('HTTP/1.1 100 ');
const END = Buffer.from('\r\n\r\n');

/**
 * Removes interim responses `100 Continue` from the data of a socket. Some servers and proxies send one although the
 * request did not expect it. RFC 9110 section 15.2 allows that, but undici then destroys the connection.
 *
 * A `100 Continue` in several pieces is not recognized. A body cannot start a read with these bytes by accident,
 * because JSON and server-sent events have no CR in their text.
 */
export function skipContinue(socket: Socket): void {
  socket.read = readFinal;
}

/** One function for all sockets: a closure for each would take memory as long as its connection. */
function readFinal(this: Socket, size?: number): Buffer | null {
  const bytes = Socket.prototype.read.call(this, size) as Buffer | null; // the socket has no encoding
  if (bytes === null || bytes[0] !== START[0]) return bytes;
  const rest = withoutContinue(bytes);
  return rest.length === 0 ? Socket.prototype.read.call(this, size) : rest;
}

function withoutContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (rest.subarray(0, START.length).equals(START)) {
    const end = rest.indexOf(END);
    if (end === -1) return rest;
    rest = rest.subarray(end + END.length);
  }
  return rest;
}
