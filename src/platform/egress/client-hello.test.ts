import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { MAX_HELLO_BYTES, readClientHello } from './client-hello.ts';

/** Returns the first bytes that a TLS client sends. */
async function greet(servername: string): Promise<Buffer> {
  const [near, wire] = duplexPair();
  const client = connect({ socket: near, servername });
  client.on('error', () => {}); // it is not answered
  const [bytes] = (await once(wire, 'data')) as [Buffer];
  client.destroy();
  return bytes;
}

/** Writes a message in records of this many bytes. */
function splitRecords(hello: Buffer, bytes: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += bytes) {
    const piece = message.subarray(at, at + bytes);
    records.push(Buffer.from([22, 3, 1, piece.length >> 8, piece.length & 255]), piece);
  }
  return Buffer.concat(records);
}

let hello: Buffer;
beforeAll(async () => {
  hello = await greet('files.example.org');
});

describe('the first message of a TLS client', () => {
  it('has the name of the server, or none', async () => {
    expect(readClientHello(hello)).toEqual({ kind: 'tls', serverName: 'files.example.org' });
    expect(readClientHello(await greet(''))).toEqual({ kind: 'tls', serverName: undefined });
  });

  it('is complete only at its end', () => {
    for (let length = 0; length < hello.length; length++) {
      expect(readClientHello(hello.subarray(0, length))).toBe('partial');
    }
  });

  it('may have several records, and bytes after it', () => {
    for (const size of [100, 255, 511]) {
      const bytes = Buffer.concat([splitRecords(hello, size), Buffer.from('more')]);
      expect(readClientHello(bytes)).toEqual({ kind: 'tls', serverName: 'files.example.org' });
    }
  });

  it.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 2, 40])],
    ['another version', Buffer.from([22, 2, 0, 0, 1])],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['a record that is too long', Buffer.from([22, 3, 1, 0x40, 1])],
    ['another message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['a message that is too long', Buffer.from([22, 3, 1, 0, 4, 1, 1, 0, 0])],
    ['an empty message', Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])],
  ])('is not %s', (_, bytes) => {
    expect(readClientHello(bytes)).toBe('invalid');
  });

  it('has a maximum length and a maximum number of records', () => {
    const begun = Buffer.concat([Buffer.alloc(5), Buffer.from([1, 0, 0x3f, 0xff]), Buffer.alloc(16_370)]);
    expect(readClientHello(splitRecords(begun, 1024))).toBe('invalid');
    expect(readClientHello(splitRecords(hello, 1))).toBe('invalid');
    expect(readClientHello(splitRecords(begun, 8192).subarray(0, MAX_HELLO_BYTES))).toBe('partial');
  });

  it('is rejected with two names, and never read beyond its end', () => {
    const start = hello.indexOf(Buffer.from('files.example.org')) - 9;
    const doubled = Buffer.from(hello);
    doubled.writeUInt16BE(22, start + 4); // the length of the list, beyond the name
    expect(readClientHello(doubled)).toBe('invalid');
    fc.assert(
      fc.property(fc.nat({ max: hello.length - 10 }), fc.integer({ min: 0, max: 255 }), (at, value) => {
        const changed = Buffer.from(hello);
        changed[at + 9] = value;
        const found = readClientHello(changed);
        expect(found === 'invalid' || found === 'partial' || found.kind === 'tls').toBe(true);
      }),
    );
  });
});
