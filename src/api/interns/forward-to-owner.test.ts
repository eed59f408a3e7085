import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Intern } from '../../domain/intern.ts';
import { asGatewayError } from '../../domain/errors.ts';
import { findOwner, forwardToOwner, forwardUpgrade } from './forward-to-owner.ts';

describe('a request for an intern of another process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-owner-'));
  const path = join(folder, 'owner.sock');
  const intern = { runtimeAddress: `unix:${path}#a1` } as Intern; // only this field is read
  const servers: Server[] = [];
  let port: number;
  const serve = async (listener: RequestListener, at: string | number): Promise<Server> => {
    const server = createServer(listener);
    servers.push(server.listen(at));
    await once(server, 'listening');
    return server;
  };
  beforeAll(async () => {
    const owner = await serve(async (request, response) => {
      response.writeHead(202, { 'x-owner': 'yes' });
      response.end(`${request.method} ${request.url} ${request.headers.authorization} ${await text(request)}`);
    }, path);
    owner.on('upgrade', (_, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhi'));
    const front = await serve((request, response) => {
      Promise.resolve()
        .then(() => forwardToOwner(findOwner(intern, request), request, response, undefined))
        .catch((error) => void response.writeHead(asGatewayError(error).status).end());
    }, 0);
    front.on('upgrade', (request, socket, head) => void forwardUpgrade(path, request, socket, head));
    ({ port } = front.address() as AddressInfo);
  });
  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true });
  });

  it('reaches it with its body and its headers', async () => {
    const headers = { authorization: 'Bearer a' };
    const response = await fetch(`http://127.0.0.1:${port}/chat?b=1`, { method: 'POST', body: 'body', headers });
    expect([response.status, response.headers.get('x-owner')]).toEqual([202, 'yes']);
    expect(await response.text()).toBe('POST /chat?b=1 Bearer a body');
  });

  it('is not forwarded twice', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-headgate-forwarded': '1' } });
    expect(response.status).toBe(502);
  });

  it('can be a WebSocket', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    expect(await text(socket)).toMatch(/101 Switching Protocols\r\n\r\nhi$/);
  });

  it('is a 502 if the process has ended', async () => {
    servers[0]!.close();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(502);
  });
});
