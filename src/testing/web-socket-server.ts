import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The server's side of a WebSocket, for binary messages. */
export interface ServerSocket {
  send(message: Uint8Array): void;
  close(): void;
  onMessage(listener: (message: Buffer) => void): void;
  onClose(listener: () => void): void;
}

const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** Accepts an upgrade. @see RFC 6455 */
export function acceptWebSocket(request: IncomingMessage, socket: Duplex, protocol: string): ServerSocket {
  const key = request.headers['sec-websocket-key'];
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  head.push(`Sec-WebSocket-Accept: ${accept}`, `Sec-WebSocket-Protocol: ${protocol}`, '', '');
  socket.write(head.join('\r\n'));
  let rest = Buffer.alloc(0);
  let received = (_: Buffer): void => {};
  const closed: (() => void)[] = [];
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (let frame = readFrame(rest); frame; frame = readFrame(rest)) {
      rest = rest.subarray(frame.size);
      if (frame.code === BINARY) received(frame.payload);
      else if (frame.code === PING) socket.write(writeFrame(PONG, frame.payload));
      else if (frame.code === CLOSE) socket.end(writeFrame(CLOSE, frame.payload));
    }
  });
  socket.on('error', () => {}); // it closes next
  socket.on('close', () => {
    for (const listener of closed) listener();
  });
  return {
    send: (message) => socket.write(writeFrame(BINARY, message)),
    close: () => socket.end(writeFrame(CLOSE, Buffer.from([0x03, 0xe8]))),
    onMessage(listener) {
      received = listener;
    },
    onClose: (listener) => closed.push(listener),
  };
}

function readFrame(bytes: Buffer): { code: number; payload: Buffer; size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
  if (bytes.length < start) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const size = start + 4 + length;
  if (bytes.length < size) return undefined;
  const mask = bytes.subarray(start, start + 4);
  const payload = Buffer.from(bytes.subarray(start + 4, size)).map((byte, at) => byte ^ mask[at % 4]!);
  return { code: bytes[0]! & 0x0f, payload: Buffer.from(payload), size };
}

function writeFrame(code: number, payload: Uint8Array): Buffer {
  const long = payload.length > 65_535;
  const head = Buffer.alloc(payload.length < 126 ? 2 : long ? 10 : 4);
  head[0] = 0x80 | code;
  head[1] = payload.length < 126 ? payload.length : long ? 127 : 126;
  if (long) head.writeBigUInt64BE(BigInt(payload.length), 2);
  else if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
