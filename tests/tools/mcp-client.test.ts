import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { McpServer } from '../../src/domain/mcp.ts';
import { type ClosableMcpClient, createMcpClient, type McpClientSettings } from '../../src/platform/mcp/mcp-client.ts';
import { createServiceExchange } from '../../src/platform/outbound/exchange.ts';
import { createOutbound } from '../../src/platform/outbound/outbound.ts';
import { mcpText, type ScriptedMcpServer, scriptedTools, startMcpServer } from './mcp-server.ts';
import { patient } from '../../src/testing/patience.ts';

/* The client of MCP servers, with servers that fail in every way. */

const limits: McpClientSettings = {
  maxBytes: 20_000,
  maxTools: 50,
  connectMs: 10_000,
  maxSessions: 2,
  idleMs: 60_000,
  parallel: 3,
};
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
let settings = limits;
const exits: string[] = [];
const malformed: string[] = [];
const open = (): ClosableMcpClient => {
  const outbound = createOutbound({
    settings: () => ({
      allow: [],
      deny: [],
      ports: [80, 443],
      maxBytes: 1e6,
      timeoutMs: patient(5000),
      idleMs: patient(5000),
      parallel: 2,
    }),
  });
  return createMcpClient({
    settings: () => settings,
    sendOutbound: outbound.exchange,
    sendService: createServiceExchange(patient(5000)),
    version: 'test',
    onMalformed: (label, tools) => void malformed.push(`${label}: ${tools.join(', ')}`),
    exited: (label, { stderr }) => void exits.push(`${label} ${stderr.trim()}`),
  });
};
const never = new AbortController().signal;
let client: ClosableMcpClient;
beforeEach(() => {
  settings = limits;
  exits.length = 0;
  malformed.length = 0;
  client = open();
});
afterEach(() => client.close());

const echo = { name: 'echo', arguments: { text: 'hello' } };

describe('a server with a URL', () => {
  let upstream: ScriptedMcpServer;
  beforeAll(async () => {
    upstream = await startMcpServer();
  });
  beforeEach(() => upstream.reset());
  afterAll(() => upstream.close());

  const at = (more: Partial<McpServer> = {}): McpServer => ({
    label: 'docs',
    owner: 'workspace',
    timeoutMs: patient(20_000),
    target: { type: 'http', url: upstream.url, headers: { 'x-key': 'secret-of-docs' }, isCallers: false },
    ...more,
  });

  it('lists and calls tools in one session, with its headers', async () => {
    const tools = await client.listTools(at(), never);
    expect(tools.map(({ name }) => name)).toEqual(['echo', 'write']);
    expect(tools[0]).toMatchObject({
      input_schema: scriptedTools[0]!.inputSchema,
      annotations: { readOnlyHint: true },
    });
    expect(await client.callTool(at(), echo, never)).toEqual({
      content: [{ type: 'text', text: 'echo: hello' }],
      structuredContent: undefined,
      isError: false,
    });
    expect(upstream.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call']);
    expect(upstream.requests.every(({ headers }) => headers['x-key'] === 'secret-of-docs')).toBe(true);
    expect(upstream.requests.at(-1)!.headers['mcp-session-id']).toMatch(/^session-/);
  });

  it('does not share a session between owners or between keys', async () => {
    settings = { ...limits, maxSessions: 3 };
    await client.listTools(at(), never);
    await client.listTools(at({ owner: 'other' }), never);
    await client.listTools(at({ target: { type: 'http', url: upstream.url, headers: {}, isCallers: false } }), never);
    expect(upstream.methods().filter((method) => method === 'initialize')).toHaveLength(3);
  });

  it.each([
    [404, ''],
    [400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}'],
    [400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}'],
    [400, 'Invalid session ID'],
    [409, '{"error":"Unknown MCP session"}'],
    [503, '{"jsonrpc":"2.0","error":{"code":-32001,"message":"MCP session is unknown or expired"},"id":null}'],
    [200, '{"jsonrpc":"2.0","error":{"code":-32005,"message":"Session not found"},"id":null}'],
    [200, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Session has expired"},"id":"server-error"}'],
  ])('opens a new session when the server has forgotten it: %i %s', async (status, text) => {
    await client.listTools(at(), never);
    const headers = { 'content-type': 'application/json' };
    upstream.once('tools/call', ({ response }) => response.writeHead(status, headers).end(text));
    expect(await client.callTool(at(), echo, never)).toMatchObject({ content: [{ text: 'echo: hello' }] });
    const calls = upstream.requests.filter(({ rpc }) => rpc.method === 'tools/call');
    expect(new Set(calls.map(({ headers }) => headers['mcp-session-id'])).size).toBe(2);
  });

  it.each([
    [-32_602, 'Session not found: b7'],
    [-32_000, 'The session of the browser has crashed.'],
  ])('passes on an error of a tool about its own sessions: %i %s', async (code, message) => {
    upstream.always('tools/call', ({ error }) => error(code, message));
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject({ fault: 'protocol', code, message });
    expect(upstream.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('reports the error of a server that forgets the new session, too', async () => {
    upstream.always('tools/call', ({ error }) => error(-32_001, 'Session not found'));
    const failure = { fault: 'protocol', code: -32_001, message: 'Session not found' };
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject(failure);
    expect(upstream.methods().filter((method) => method === 'tools/call')).toHaveLength(2);
    expect(upstream.methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('reads an error without the id of its request', async () => {
    const text = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Out of memory"},"id":null}';
    upstream.always('tools/call', ({ response }) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(text),
    );
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject({ message: 'Out of memory' });
  });

  it('sends a call that the server rejects once', async () => {
    upstream.always('tools/call', ({ response }) => response.writeHead(400).end('{"message":"Bad arguments"}'));
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject({ fault: 'http', code: 400 });
    expect(upstream.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('lists the tools beside malformed ones, which it reports', async () => {
    const [sound] = scriptedTools;
    const tools = [
      sound,
      { name: 'without-schema', description: 'x' },
      { name: 'null-description', description: null, inputSchema: sound!.inputSchema, annotations: null },
      { name: 'text-schema', inputSchema: 'object' },
      { description: 'without a name', inputSchema: sound!.inputSchema },
      null,
    ];
    upstream.always('tools/list', ({ result }) => result({ tools }));
    expect(await client.listTools(at(), never)).toEqual([
      expect.objectContaining({ name: 'echo' }),
      { name: 'null-description', input_schema: sound!.inputSchema },
    ]);
    expect(malformed).toEqual(['docs: without-schema, text-schema, tool 5, tool 6']);
  });

  it('gives up if the server forgets the new session, too', async () => {
    upstream.always('tools/call', ({ response }) => response.writeHead(404).end());
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject({ fault: 'http', code: 404 });
    expect(upstream.methods().filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it('closes the session that is idle longest if there are too many, and tells the server', async () => {
    for (const owner of ['a', 'b', 'c']) await client.listTools(at({ owner }), never);
    await expect.poll(() => upstream.methods()).toContain('DELETE');
    await client.listTools(at({ owner: 'b' }), never);
    expect(upstream.methods().filter((method) => method === 'initialize')).toHaveLength(3);
  });

  it('closes an idle session', async () => {
    settings = { ...limits, idleMs: 1 };
    await client.listTools(at(), never);
    await expect.poll(() => upstream.methods()).toContain('DELETE');
  });

  it('bounds the calls in flight', async () => {
    let release = (): void => {};
    upstream.always('tools/call', ({ result }) => {
      const before = release;
      release = () => {
        before();
        result(mcpText('late'));
      };
    });
    const calls = [1, 2, 3].map(() => client.callTool(at(), echo, never));
    await expect.poll(() => upstream.methods().filter((method) => method === 'tools/call').length).toBe(3);
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject({ fault: 'limit' });
    await expect(client.listTools(at({ owner: 'b' }), never)).rejects.toMatchObject({ fault: 'limit' });
    release();
    expect(await Promise.all(calls)).toHaveLength(3);
  });

  it('follows the pages of a listing, up to its limits', async () => {
    upstream.once('tools/list', ({ result }) => result({ tools: [scriptedTools[0]], nextCursor: 'two' }));
    expect(await client.listTools(at(), never)).toHaveLength(3);
    upstream.always('tools/list', ({ result }) => result({ tools: [scriptedTools[0]], nextCursor: 'again' }));
    settings = { ...limits, maxTools: 500 };
    await expect(client.listTools(at({ owner: 'b' }), never)).rejects.toMatchObject({
      fault: 'limit',
      message: 'The MCP server docs lists its tools on more than 50 pages.',
    });
  });

  it('rejects too many tools', async () => {
    const tools = Array.from({ length: 51 }, (_, at) => ({ name: `t${at}`, inputSchema: { type: 'object' } }));
    upstream.once('tools/list', ({ result }) => result({ tools }));
    await expect(client.listTools(at(), never)).rejects.toMatchObject({ fault: 'limit' });
  });

  const big = 'x'.repeat(30_000);
  const event = (id: number | undefined, result: object): string =>
    `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;

  it.each<[string, Parameters<ScriptedMcpServer['once']>[1], object]>([
    ['a status', ({ response }) => response.writeHead(500).end('secret-of-docs'), { fault: 'http', code: 500 }],
    [
      'a redirect to another host',
      ({ response }) => response.writeHead(307, { location: 'http://127.0.0.2/' }).end(),
      { fault: 'http', code: 307 },
    ],
    [
      'an error',
      ({ error }) => error(-32_602, 'Unknown tool'),
      { fault: 'protocol', code: -32_602, message: 'Unknown tool' },
    ],
    [
      'an error with the code of a closed connection',
      ({ error }) => error(-32_000, 'No quota'),
      { fault: 'protocol', code: -32_000, message: 'No quota' },
    ],
    [
      'an error with the code of a timeout',
      ({ error }) => error(-32_001, 'Locked'),
      { fault: 'protocol', code: -32_001, message: 'Locked' },
    ],
    [
      'an error with its own key',
      ({ error }) => error(-32_000, 'The key secret-of-docs has expired'),
      { fault: 'protocol', message: 'The key [masked] has expired' },
    ],
    [
      'a key as the name of a field',
      ({ result }) => result({ content: [], structuredContent: { 'secret-of-docs': 1 } }),
      { fault: 'protocol' },
    ],
    ['HTML', ({ response }) => response.setHeader('content-type', 'text/html').end('<p>hello'), { fault: 'protocol' }],
    [
      'invalid JSON',
      ({ response }) => response.setHeader('content-type', 'application/json').end('{'),
      { fault: 'protocol' },
    ],
    ['another shape', ({ result }) => result({ content: 'text' }), { fault: 'protocol' }],
    [
      'a deep result',
      ({ result }) => result({ content: [], structuredContent: JSON.parse(deep(2000)) }),
      { fault: 'limit', message: expect.stringContaining('nested deeper than 100 levels') },
    ],
    [
      'a deep event after a text that does not end',
      ({ response, rpc }) =>
        response
          .setHeader('content-type', 'text/event-stream')
          .end(`data: "\n\n${event(rpc.id, { content: [], structuredContent: JSON.parse(deep(2000)) })}`),
      { fault: 'limit', message: expect.stringContaining('nested deeper than 100 levels') },
    ],
    ['a large response', ({ result }) => result(mcpText(big)), { fault: 'limit' }],
    [
      'a large event',
      ({ response, rpc }) => response.setHeader('content-type', 'text/event-stream').end(event(rpc.id, mcpText(big))),
      { fault: 'limit' },
    ],
    [
      'a stream without a result',
      ({ response }) => response.setHeader('content-type', 'text/event-stream').end(': nothing\n\n'),
      { fault: 'unavailable' },
    ],
    [
      'a compressed response',
      ({ response, result }) => {
        response.setHeader('content-encoding', 'gzip');
        result({});
      },
      { fault: 'protocol' },
    ],
    ['no response', ({ response }) => response.destroy(), { fault: 'unavailable' }],
    [
      'half a stream',
      ({ response }) => {
        response.setHeader('content-type', 'text/event-stream').write(': begun\n\n', () => response.destroy());
      },
      { fault: 'unavailable' },
    ],
  ])('reports %s', async (_, handler, expected) => {
    upstream.once('tools/call', handler);
    const failure = await client.callTool(at(), echo, never).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'McpError', ...expected });
    expect((failure as Error).message).not.toContain('secret');
    expect(await client.callTool(at(), echo, never)).toMatchObject({ isError: false }); // the session still works
  });

  it('masks its headers in what the server sends', async () => {
    const headers = { authorization: 'Bearer "token-of-docs"', 'x-tenant': 'acme' };
    const target = { type: 'http', url: upstream.url, headers, isCallers: false } as const;
    const text = 'Got Bearer "token-of-docs", "token-of-docs" and acme.';
    upstream.once('tools/call', ({ result }) => result(mcpText(text)));
    upstream.once('tools/list', ({ result }) => result({ tools: [{ ...scriptedTools[0], description: text }] }));
    const masked = 'Got [masked], [masked] and acme.';
    expect(await client.callTool(at({ target }), echo, never)).toMatchObject(mcpText(masked));
    expect(await client.listTools(at({ target }), never)).toMatchObject([{ description: masked }]);
    const deep = `{"a":${'['.repeat(3000)}"secret-of-docs"${']'.repeat(3000)}}`;
    upstream.once('tools/call', ({ response, rpc }) => {
      response.setHeader('content-type', 'application/json');
      response.end(`{"jsonrpc":"2.0","id":${rpc.id},"result":{"content":[],"structuredContent":${deep}}}`);
    });
    const found = await client.callTool(at(), echo, never).then(JSON.stringify, (error: Error) => error.name);
    expect(found).not.toContain('secret-of-docs');
  });

  it('serves any number of calls in one session', async () => {
    const server = at();
    for (let count = 0; count < 70; count++) {
      upstream.once('tools/call', ({ response }) =>
        response.writeHead(count % 2 ? 500 : 307, { location: 'http://x.example/' }).end('x'),
      );
      await expect(client.callTool(server, echo, never)).rejects.toMatchObject({ fault: 'http' });
    }
    expect(upstream.methods().filter((method) => method === 'initialize')).toHaveLength(1);
  });

  it('follows a redirect within the origin', async () => {
    upstream.once('tools/call', ({ response }) => response.writeHead(307, { location: '/elsewhere' }).end());
    expect(await client.callTool(at(), echo, never)).toMatchObject({ isError: false });
  });

  it('reads a result from a stream', async () => {
    upstream.once('tools/call', ({ response, rpc }) =>
      response.setHeader('content-type', 'text/event-stream').end(event(rpc.id, mcpText('streamed'))),
    );
    expect(await client.callTool(at(), echo, never)).toMatchObject({ content: [{ text: 'streamed' }] });
  });

  it('resumes an interrupted stream', async () => {
    let id: number | undefined;
    upstream.once('tools/call', ({ response, rpc }) => {
      id = rpc.id;
      response.setHeader('content-type', 'text/event-stream').end('id: 1\nretry: 1\ndata:\n\n');
    });
    upstream.once('GET', ({ response, headers }) => {
      expect(headers['last-event-id']).toBe('1');
      response.setHeader('content-type', 'text/event-stream').end(event(id, mcpText('resumed')));
    });
    expect(await client.callTool(at(), echo, never)).toMatchObject({ content: [{ text: 'resumed' }] });
  });

  it('fails a call whose stream is never resumed', async () => {
    const begin = 'id: 1\nretry: 1\ndata:\n\n';
    upstream.once('tools/call', ({ response }) => response.setHeader('content-type', 'text/event-stream').end(begin));
    upstream.always('GET', ({ response }) => response.setHeader('content-type', 'text/event-stream').end(begin));
    await expect(client.callTool(at(), echo, never)).rejects.toMatchObject({ fault: 'unavailable' });
    expect(upstream.methods().filter((method) => method === 'GET').length).toBeLessThan(20);
  });

  it('stops answering a server that sends endless requests', async () => {
    const pings = Array.from({ length: 300 }, (_, at) => `data: {"jsonrpc":"2.0","id":${at},"method":"ping"}\n\n`).join(
      '',
    );
    upstream.once('tools/call', ({ response, rpc }) =>
      response.setHeader('content-type', 'text/event-stream').end(pings + event(rpc.id, mcpText('done'))),
    );
    expect(await client.callTool(at(), echo, never)).toMatchObject({ content: [{ text: 'done' }] });
    expect(upstream.requests.filter(({ rpc }) => rpc.method === undefined).length).toBeLessThan(257);
  });

  it('cancels a call at the server', async () => {
    const closed = Promise.withResolvers<void>();
    upstream.once('tools/call', ({ response }) => {
      response.once('close', () => closed.resolve());
      response.setHeader('content-type', 'text/event-stream').write(': working\n\n');
    });
    const controller = new AbortController();
    const call = client.callTool(at(), echo, controller.signal);
    const reason = new Error('The client disconnected.');
    await expect.poll(() => upstream.methods()).toContain('tools/call');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await closed.promise;
    await expect.poll(() => upstream.methods()).toContain('notifications/cancelled');
  });

  it('ends a call after its time limit', async () => {
    upstream.once('tools/call', () => {});
    await expect(client.callTool(at({ timeoutMs: 50 }), echo, never)).rejects.toMatchObject({ fault: 'timeout' });
  });

  it('ends a handshake after its time limit', async () => {
    settings = { ...limits, connectMs: 50 };
    upstream.once('initialize', () => {});
    await expect(client.listTools(at(), never)).rejects.toMatchObject({ fault: 'timeout' });
    settings = limits;
    expect(await client.listTools(at(), never)).toHaveLength(2);
  });

  it('does not connect to a private address that a caller names', async () => {
    const server = at({ target: { type: 'http', url: upstream.url, headers: {}, isCallers: true } });
    await expect(client.listTools(server, never)).rejects.toMatchObject({ fault: 'blocked' });
    expect(upstream.requests).toEqual([]);
  });

  it('reports a server that is not there', async () => {
    const target = { type: 'http', url: 'http://127.0.0.1:9/mcp', headers: {}, isCallers: false } as const;
    await expect(client.listTools(at({ target }), never)).rejects.toMatchObject({ fault: 'unavailable' });
  });
});

const everything = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);

describe('a server that is a process', () => {
  const process_ = (args: readonly string[], more: Partial<McpServer> = {}): McpServer => ({
    label: 'local',
    owner: 'operator',
    timeoutMs: patient(20_000),
    target: { type: 'process', command: process.execPath, args, env: { GREETING: 'hello' }, cwd: undefined },
    ...more,
  });
  const script = (code: string): McpServer => {
    const file = join(mkdtempSync(join(tmpdir(), 'mcp-')), 'server.mjs');
    writeFileSync(file, code);
    return process_([file]);
  };
  const isRunning = (pid: number): boolean => {
    try {
      return !/\nState:\s+Z/.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return existsSync('/proc') ? false : process.kill(pid, 0);
    }
  };

  it('runs the reference server, which gets only its own environment', async () => {
    const server = process_([everything, 'stdio']);
    const tools = await client.listTools(server, never);
    expect(tools.map(({ name }) => name)).toContain('get-env');
    const { content } = await client.callTool(server, { name: 'get-env', arguments: {} }, never);
    const env = JSON.parse(String(content[0]!['text'])) as object;
    expect(Object.keys(env).sort()).toEqual(['GREETING', 'PATH']);
  });

  /** Answers a handshake, and prints its process id as the name of a tool. */
  const server = `
    import { createInterface } from 'node:readline';
    const send = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize') send(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      else if (method === 'tools/list') send(id, { tools: [{ name: 'pid-' + process.pid, inputSchema: { type: 'object' } }] });
      else if (method === 'tools/call') CALL
    });`;
  const pidOf = async (of: McpServer): Promise<number> => {
    const [tool] = await client.listTools(of, never);
    return Number(tool!.name.slice(4));
  };

  it('ends a process that ignores signals when the gateway closes', async () => {
    const pid = await pidOf(script(`process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); ${server}`));
    expect(isRunning(pid)).toBe(true);
    await client.close();
    await expect.poll(() => isRunning(pid)).toBe(false);
    expect(exits).toEqual([]);
  });

  it('fails the call of a process that ends, and waits before it starts it again', async () => {
    const local = script(server.replace('CALL', `{ console.error('out of memory'); process.exit(3); }`));
    await client.listTools(local, never);
    await expect(client.callTool(local, echo, never)).rejects.toMatchObject({
      fault: 'unavailable',
      message: 'The process of the MCP server local ended.',
    });
    expect(exits).toEqual(['local out of memory']);
    await expect(client.listTools(local, never)).rejects.toMatchObject({
      message: expect.stringMatching(/^The MCP server local has failed. It is started again in \d+ s.$/),
    });
    await expect.poll(() => client.listTools(local, never).catch(() => [])).toHaveLength(1);
  });

  it('ignores lines that are not JSON-RPC, up to a limit', async () => {
    const local = script(server.replace('CALL', `{ console.log('debug output'); send(id, { content: [] }); }`));
    expect(await client.callTool(local, echo, never)).toMatchObject({ content: [] });
    const noisy = script(server.replace('CALL', `for (let at = 0; at < 100; at++) console.log('noise');`));
    await expect(client.callTool(noisy, echo, never)).rejects.toMatchObject({ fault: 'unavailable' });
  });

  it('stops a process that sends a huge message', async () => {
    const local = script(server.replace('CALL', `process.stdout.write('x'.repeat(100_000));`));
    await expect(client.callTool(local, echo, never)).rejects.toMatchObject({ fault: 'limit' });
  });

  it('stops a process that sends a deep message', async () => {
    const local = script(server.replace('CALL', `console.log('${deep(2000)}');`));
    await expect(client.callTool(local, echo, never)).rejects.toMatchObject({
      fault: 'limit',
      message: expect.stringContaining('nested deeper than 100 levels'),
    });
  });

  it('reports a program that does not exist', async () => {
    const missing = process_([], {
      target: { type: 'process', command: 'no-such-program', args: [], env: {}, cwd: undefined },
    });
    await expect(client.listTools(missing, never)).rejects.toMatchObject({ fault: 'unavailable' });
  });

  it.runIf(process.platform === 'linux')('ends the process when the gateway is killed', async () => {
    const stubborn = script(`process.stdin.on('end', () => {}); setInterval(() => {}, 1000); ${server}`);
    const [file] = stubborn.target.type === 'process' ? stubborn.target.args : [];
    const source = join(import.meta.dirname, '../../src/platform');
    const gateway = `
      import { createMcpClient } from '${source}/mcp/mcp-client.ts';
      const client = createMcpClient({ settings: () => (${JSON.stringify(limits)}), version: '1', exited() {} });
      const target = { type: 'process', command: process.execPath, args: ['${file}'], env: {} };
      const [tool] = await client.listTools({ label: 'x', owner: 'x', timeoutMs: 60000, target }, new AbortController().signal);
      console.log(tool.name);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', gateway], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const name = await new Promise<string>((resolve) =>
      child.stdout.once('data', (data) => resolve(String(data).trim())),
    );
    const pid = Number(name.slice(4));
    expect(isRunning(pid)).toBe(true);
    child.kill('SIGKILL');
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});
