import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ChunkedBody, LARGE_TEXT } from './chunked-body.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

async function listen(respond: (raw: ServerResponse) => void): Promise<number> {
  server = createServer((_request, raw) => respond(raw)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Returns the bytes of the connection after the headers. */
async function readRaw(port: number, version: '1.0' | '1.1'): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET / HTTP/${version}\r\nhost: a\r\nconnection: close\r\n\r\n`);
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece);
  const text = Buffer.concat(pieces).toString('utf8');
  return text.slice(text.indexOf('\r\n\r\n') + 4);
}

const texts = ['a', 'é€𝄞', 'x'.repeat(20_000), '€'.repeat(20_000), 'y'.repeat(LARGE_TEXT), '€'.repeat(LARGE_TEXT)];

describe('a body in chunks', () => {
  it('arrives unchanged, whatever the length and the characters of its texts', async () => {
    const port = await listen((raw) => {
      const body = new ChunkedBody(raw);
      body.begin(200, {});
      for (const text of texts) body.write(text, 'utf8');
      body.write('the last one', 'utf8', true);
      body.end();
    });
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(await response.text()).toBe(`${texts.join('')}the last one`);
  });

  it('leaves the connection usable for the next request', async () => {
    const port = await listen((raw) => {
      const body = new ChunkedBody(raw);
      body.begin(200, { 'content-type': 'text/plain' });
      body.write('é', 'utf8', true);
      body.end();
      body.write('too late', 'utf8');
    });
    const socket = connect(port, '127.0.0.1');
    const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
    socket.write(request + request);
    let received = '';
    for await (const piece of socket) {
      received += piece;
      if (received.split('0\r\n\r\n').length > 2) break;
    }
    expect(received.match(/\r\n\r\n2\r\né\r\n0\r\n\r\n/g)).toHaveLength(2);
    expect(received).not.toContain('too late');
  });

  it('frames each text, and ends with an empty chunk', async () => {
    const port = await listen((raw) => {
      const body = new ChunkedBody(raw);
      body.begin(200, {});
      body.write('one', 'utf8');
      body.write('zwölf', 'utf8');
      body.end();
    });
    expect(await readRaw(port, '1.1')).toBe('3\r\none\r\n6\r\nzwölf\r\n0\r\n\r\n');
  });

  it('is without frames for a client of HTTP/1.0', async () => {
    const port = await listen((raw) => {
      const body = new ChunkedBody(raw);
      body.begin(200, {});
      body.write('one', 'utf8');
      body.write('two', 'utf8', true);
      body.end();
    });
    expect(await readRaw(port, '1.0')).toBe('onetwo');
  });
});
