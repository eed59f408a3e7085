import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fastify from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createGateway, type Gateway } from '../../src/library.ts';

const root = join(import.meta.dirname, '../..');
const key = 'sk-library-key-0001';
const config = {
  bootstrap: {
    workspaces: [{ id: '00000000-0000-4000-8000-0000000000a1', name: 'shop' }],
    keys: [{ key, name: 'app', workspace: 'shop', acts_as: 'organization' }],
  },
};
const body = (more: object = {}) => JSON.stringify({ model: 'simulator/echo', input: 'Hello', ...more });
interface Found {
  data?: { cancelled: boolean };
}
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const post = (sent: string, more: RequestInit = {}) =>
  new Request('http://gateway/api/v1/responses', { method: 'POST', headers, body: sent, ...more });

/** The parts of a process that a library must not change. */
const describeProcess = () => ({
  listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
  umask: process.umask(),
  cwd: process.cwd(),
});

let gateway: Gateway;
let lines: string[];
beforeEach(() => {
  lines = [];
});
afterEach(() => gateway?.close());

describe('a gateway without a folder', () => {
  it('works in a temporary one, creates keys, and changes nothing of the process', async () => {
    const before = describeProcess();
    const folders = () => readdirSync(tmpdir()).filter((name) => /^headgate-[^-]+$/.test(name));
    const earlier = folders();
    gateway = await createGateway({ env: {} });
    expect(folders()).toHaveLength(earlier.length + 1);
    const response = await gateway.fetch(
      post(body(), { headers: { ...headers, authorization: `Bearer ${gateway.firstKeys!.inference}` } }),
    );
    expect(response.status).toBe(200);
    expect(describeProcess()).toEqual(before);
    await gateway.close();
    expect(folders()).toEqual(earlier);
  });

  it('lists all problems of its configuration', async () => {
    const wrong = createGateway({ env: {}, config: { server: { body_limit: -1 }, providres: [] } });
    await expect(wrong).rejects.toThrow(/server\.body_limit[\s\S]*providres|providres[\s\S]*server\.body_limit/);
  });
});

describe('a gateway with a folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  });
  afterEach(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('keeps its records, and is the only one that uses it', async () => {
    gateway = await createGateway({ env: {}, config, dataDir: folder, log: (line) => lines.push(line) });
    const created = await gateway.fetch(post(body()));
    const id = created.headers.get('x-generation-id');
    await created.text();
    await expect(createGateway({ env: {}, dataDir: folder })).rejects.toThrow('is in use by the process');
    await gateway.close();
    gateway = await createGateway({ env: {}, config, dataDir: folder });
    const found = await gateway.fetch(new Request(`http://gateway/api/v1/generation?id=${id}`, { headers }));
    expect(await found.json()).toMatchObject({ data: { id, model: 'simulator/echo' } });
    expect(existsSync(join(folder, 'headgate.db'))).toBe(true);
  });

  it('writes its log to the function, as JSON', async () => {
    gateway = await createGateway({
      env: {},
      config: { ...config, log: { requests: true } },
      dataDir: folder,
      log: (line) => lines.push(line),
    });
    await (await gateway.fetch(post(body()))).text();
    await expect.poll(() => lines.map((line) => JSON.parse(line).msg)).toContain('request');
  });

  it('takes another configuration, and keeps the previous one if it is wrong', async () => {
    gateway = await createGateway({ env: {}, config, dataDir: folder });
    await gateway.reload({ ...config, limits: { requests_per_minute: 1 } });
    expect((await gateway.fetch(post(body()))).status).toBe(200);
    expect((await gateway.fetch(post(body()))).status).toBe(429);
    await expect(gateway.reload({ limits: { requests_per_minute: 'many' } })).rejects.toThrow('requests_per_minute');
    expect((await gateway.fetch(post(body()))).status).toBe(429);
  });
});

describe('fetch', () => {
  beforeEach(async () => {
    gateway = await createGateway({ env: {}, config });
  });

  it('streams, and an abort ends the request', async () => {
    const controller = new AbortController();
    const long = body({ stream: true, input: `[[tokens 5000]] [[delay 5]]` });
    const response = await gateway.fetch(post(long, { signal: controller.signal }));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = response.body!.getReader();
    await reader.read();
    controller.abort();
    await expect(
      (async () => {
        for (;;) if ((await reader.read()).done) return;
      })(),
    ).rejects.toThrow();
    const id = response.headers.get('x-generation-id');
    const find = () => gateway.fetch(new Request(`http://gateway/api/v1/generation?id=${id}`, { headers }));
    await expect.poll(async () => ((await (await find()).json()) as Found).data?.cancelled).toBe(true);
  });

  it('sends a streamed body, and has no body for HEAD and 204', async () => {
    const sent = body();
    const stream = new ReadableStream({
      start(controller) {
        for (const piece of [sent.slice(0, 10), sent.slice(10)]) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    const response = await gateway.fetch(post(stream as never, { duplex: 'half' } as RequestInit));
    expect(await response.json()).toMatchObject({ status: 'completed' });
    const head = await gateway.fetch(new Request('http://gateway/health', { method: 'HEAD' }));
    expect([head.status, head.body]).toEqual([200, null]);
    const options = await gateway.fetch(new Request('http://gateway/ready', { method: 'OPTIONS' }));
    expect(options.status).toBe(200);
  });

  it('rejects if the body breaks', async () => {
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(new Error('the disk is gone'));
      },
    });
    await expect(gateway.fetch(post(broken as never, { duplex: 'half' } as RequestInit))).rejects.toThrow(
      'the disk is gone',
    );
  });

  it('is a 401 without a key, and a 503 after the end', async () => {
    const read = async (path: string) =>
      (await gateway.fetch(new Request(`http://gateway${path}`, { headers }))).status;
    expect((await gateway.fetch(new Request('http://gateway/api/v1/responses', { method: 'POST' }))).status).toBe(401);
    expect(await read('/api/v1/models')).toBe(200);
    expect(await read('/metrics')).toBe(403); // another server may listen on a public address
    await gateway.close();
    expect(await read('/api/v1/models')).toBe(503);
  });
});

describe('handle and upgrade', () => {
  let server: Server;
  let url: string;
  beforeEach(async () => {
    gateway = await createGateway({ env: {}, config });
    server = createServer(gateway.handle);
    server.on('upgrade', gateway.upgrade);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('serve requests and WebSockets of a server', async () => {
    const response = await fetch(`http://${url}/api/v1/responses`, { method: 'POST', headers, body: body() });
    expect(await response.json()).toMatchObject({ status: 'completed' });
    const socket = new WebSocket(`ws://${url}/api/v1/responses`, { headers });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', ...JSON.parse(body()) }));
    const types: string[] = [];
    for await (const [data] of on(socket, 'message')) {
      types.push((JSON.parse(String(data)) as { type: string }).type);
      if (types.at(-1) === 'response.completed') break;
    }
    expect(types[0]).toBe('response.created');
    socket.close();
    await once(socket, 'close');
  });
});

describe('the plugin of Fastify', () => {
  it('serves below its prefix, streamed, and leaves other routes alone', async () => {
    gateway = await createGateway({ env: {}, config });
    const app = fastify({ bodyLimit: 10 }); // the limit of the gateway counts
    app.get('/hello', () => 'hello');
    app.post('/own', (request) => request.body);
    app.register(gateway.fastify, { prefix: '/llm' });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    try {
      const response = await fetch(`${url}/llm/api/v1/responses`, {
        method: 'POST',
        headers,
        body: body({ stream: true }),
      });
      expect(await response.text()).toMatch(/response\.completed[\s\S]*\[DONE\]\n\n$/);
      expect(await (await fetch(`${url}/hello`)).text()).toBe('hello');
      expect((await fetch(`${url}/own`, { method: 'POST', headers, body: '{"a":1}' })).status).toBe(200);
      expect((await fetch(`${url}/api/v1/models`, { headers })).status).toBe(404);
      expect((await fetch(`${url}/llm/api/v1/none`, { headers })).status).toBe(404);
      const socket = new WebSocket(`${url.replace('http', 'ws')}/llm/api/v1/responses`, { headers });
      await once(socket, 'open');
      socket.close();
      await once(socket, 'close');
    } finally {
      await app.close();
    }
  });
});

describe('the examples', () => {
  const start = (name: string) =>
    spawn(process.execPath, ['--import', join(root, 'tests/setup/use-sources.ts'), join(root, 'examples', name)], {
      env: { PATH: process.env['PATH'], PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  /** Reads the output up to the address, and the address alone. */
  async function readKeyAndUrl(child: ReturnType<typeof start>): Promise<{ sent: string; url: string }> {
    let text = '';
    for await (const piece of child.stdout!) {
      text += String(piece);
      const [, sent, url] = /is (\S+)\n(http:\S+)\n/.exec(text) ?? [];
      if (url !== undefined) return { sent: sent!, url };
    }
    throw new Error(`The example printed ${text}`);
  }

  it.each([
    ['library-http.js', ''],
    ['library-fastify.js', '/llm'],
  ])('%s serves, and ends with SIGTERM', async (name, prefix) => {
    const child = start(name);
    const { sent, url } = await readKeyAndUrl(child);
    const response = await fetch(`${url}${prefix}/api/v1/responses`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${sent}` },
      body: body(),
    });
    expect(await response.json()).toMatchObject({ status: 'completed' });
    expect(await (await fetch(`${url}/hello`)).text()).toBe('Hello from the shop.\n');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('library-fetch.js prints a response and ends', async () => {
    const child = start('library-fetch.js');
    const [printed, [code]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
    expect(printed).toContain('Hello');
    expect(code).toBe(0);
  });
});
