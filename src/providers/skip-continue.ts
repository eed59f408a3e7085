import type { Socket } from 'node:net';

const START = Buffer.from('HTTP/1.1 100 ');
const END = Buffer.from('\r\n\r\n');

/**
 * Removes interim responses `100 Continue` from what a socket reads. Some servers and proxies send one although the
 * request did not ask for it (RFC 9110 section 15.2 allows that), and undici then destroys the connection.
 *
 * One that arrives in pieces is not recognized. A body can hold no such bytes at the start of a read by accident: JSON
 * and server-sent events have no CR in their text.
 */
export function skipContinue(socket: Socket): void {
  const read = socket.read;
  socket.read = function readFinal(size?: number): Buffer | null {
    const bytes = read.call(socket, size) as Buffer | null; // no encoding is set
    if (bytes === null || bytes[0] !== START[0]) return bytes;
    const rest = withoutContinue(bytes);
    return rest.length === 0 ? read.call(socket, size) : rest;
  };
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
