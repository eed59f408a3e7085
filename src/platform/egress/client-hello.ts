/** The kind of the first bytes of a connection. `partial`: more bytes are needed. */
export type FirstBytes = 'partial' | 'invalid' | { kind: 'tls'; serverName: string | undefined };

/** Longest first message of a TLS client that is read. Those of today have less than 2 KiB. */
export const MAX_HELLO_BYTES = 16_384;

/** Each record is read again when more bytes arrive. */
const MAX_RECORDS = 16;
const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/**
 * Reads the server name (SNI) of the message with which a TLS client begins. The message can span several records.
 *
 * @see RFC 8446 section 4.1.2, RFC 6066 section 3
 */
export function readClientHello(bytes: Buffer): FirstBytes {
  const message = readMessage(bytes);
  if (message === 'partial') return bytes.length > MAX_HELLO_BYTES ? 'invalid' : 'partial';
  if (message === 'invalid') return 'invalid';
  try {
    return { kind: 'tls', serverName: readServerName(new Fields(message)) };
  } catch (error) {
    if (error instanceof RangeError) return 'invalid'; // a length beyond the end
    throw error;
  }
}

/** Joins the records of the first message, and returns it without its header. */
function readMessage(bytes: Buffer): Buffer | 'partial' | 'invalid' {
  const pieces: Buffer[] = [];
  let joined = 0;
  for (let at = 0; ; ) {
    if (pieces.length === MAX_RECORDS || (at < bytes.length && bytes[at] !== HANDSHAKE_RECORD)) return 'invalid';
    if (at + 1 < bytes.length && bytes[at + 1] !== 3) return 'invalid';
    if (at + 5 > bytes.length) return 'partial';
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > MAX_HELLO_BYTES) return 'invalid';
    const piece = bytes.subarray(at + 5, at + 5 + length);
    pieces.push(piece);
    joined += piece.length;
    const message = Buffer.concat(pieces, joined);
    if (message.length > 0 && message[0] !== CLIENT_HELLO) return 'invalid';
    if (message.length >= 4) {
      const size = message.readUIntBE(1, 3);
      if (size > MAX_HELLO_BYTES) return 'invalid';
      if (message.length >= 4 + size) return message.subarray(4, 4 + size);
    }
    if (piece.length < length) return 'partial';
    at += 5 + length;
  }
}

/** @throws {RangeError} if it is malformed */
function readServerName(hello: Fields): string | undefined {
  hello.skip(2 + 32); // version and random
  hello.readBlock(1); // session
  hello.readBlock(2); // ciphers
  hello.readBlock(1); // compressions
  if (hello.isAtEnd) return undefined;
  const extensions = hello.readBlock(2);
  let found: string | undefined;
  while (!extensions.isAtEnd) {
    const type = extensions.readNumber(2);
    const content = extensions.readBlock(2);
    if (type !== SERVER_NAME) continue;
    const names = content.readBlock(2);
    if (names.readNumber(1) !== HOST_NAME) throw new RangeError('a name of another kind');
    const name = names.readBlock(2).text;
    if (found !== undefined || !names.isAtEnd) throw new RangeError('several names');
    found = name;
  }
  return found;
}

/** Reads numbers and blocks with a length before them. */
class Fields {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  get text(): string {
    return this.bytes.toString('latin1');
  }

  skip(count: number): void {
    this.at += count;
    if (this.at > this.bytes.length) throw new RangeError('beyond the end');
  }

  readNumber(width: number): number {
    const from = this.at;
    this.skip(width);
    return this.bytes.readUIntBE(from, width);
  }

  readBlock(width: number): Fields {
    const length = this.readNumber(width);
    const from = this.at;
    this.skip(length);
    return new Fields(this.bytes.subarray(from, this.at));
  }
}
