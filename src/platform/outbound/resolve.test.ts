import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createOutbound } from './outbound.ts';
import { createResolve } from './resolve.ts';

/** A name server on loopback. It responds by its table, and not at all to names that begin with `silent`. */
let server: Socket;
let servers: string[];
let asked: string[] = [];
const table: Record<string, { a?: number[][]; aaaa?: number[][] }> = {
  'public.example.org': {
    a: [
      [93, 184, 216, 34],
      [93, 184, 216, 35],
    ],
    aaaa: [[0x26, 0x06, 0x47, ...Array(12).fill(0), 1]],
  },
  'four.example.org': { a: [[93, 184, 216, 34]] },
  'inside.example.org': { a: [[127, 0, 0, 1]] },
  'mapped.example.org': { aaaa: [[...Array(10).fill(0), 0xff, 0xff, 10, 0, 0, 1]] },
};
const A = 1;

beforeAll(async () => {
  server = createSocket('udp4', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query);
    asked.push(`${name} ${type === A ? 'A' : 'AAAA'}`);
    if (!name.startsWith('silent')) server.send(writeResponse(query, end, name, type), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  servers = [`127.0.0.1:${server.address().port}`];
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
});

/** @see RFC 1035 section 4.1.2 */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Header, the question, and an answer per address. A name that is not in the table is unknown. */
function writeResponse(query: Buffer, end: number, name: string, type: number): Buffer {
  const found = table[name];
  const addresses = (type === A ? found?.a : found?.aaaa) ?? [];
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(found ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((bytes) =>
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]),
  );
  return Buffer.concat([head, ...records]);
}

const never = new AbortController().signal;

it('returns the addresses of both families', async () => {
  expect(await createResolve(servers)('public.example.org', false, never)).toEqual([
    '93.184.216.34',
    '93.184.216.35',
    '2606:4700::1',
  ]);
  expect(asked.toSorted()).toEqual(['public.example.org A', 'public.example.org AAAA']);
});

it('accepts one family', async () => {
  expect(await createResolve(servers)('four.example.org', false, never)).toEqual(['93.184.216.34']);
});

it('fails for an unknown name', async () => {
  await expect(createResolve(servers)('unknown.example.org', false, never)).rejects.toMatchObject({
    code: 'ENOTFOUND',
  });
});

it('resolves a name of a caller with the name server, not the hosts file', async () => {
  await expect(createResolve(servers)('localhost', false, never)).rejects.toThrow();
  expect(asked).not.toEqual([]);
});

it('resolves a name that the operator opened with the system', async () => {
  expect(await createResolve(servers)('localhost', true, never)).toContain('127.0.0.1');
  expect(asked).toEqual([]);
});

it('stops when it is cancelled', async () => {
  const controller = new AbortController();
  const looking = createResolve(servers)('silent.example.org', false, controller.signal);
  controller.abort();

  await expect(looking).rejects.toMatchObject({ code: 'ECANCELLED' });
});

it.each([
  'inside.example.org',
  'mapped.example.org',
  'unknown.example.org',
])('a fetch with a real lookup ends before it connects: %s', async (name) => {
  const settings = { allow: [], deny: [], ports: [80], maxBytes: 1024, timeoutMs: 20_000, idleMs: 10_000, parallel: 1 };
  const outbound = createOutbound({
    settings: () => settings,
    resolve: createResolve(servers),
    dial: () => expect.unreachable('it was connected to'),
  });

  await expect(outbound.fetchUrl(`http://${name}/`)).rejects.toMatchObject({ reason: 'unresolvable' });
});
