import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { McpServer } from '../../src/domain/mcp.ts';
import { type ClosableMcpClient, createMcpClient } from '../../src/platform/mcp/mcp-client.ts';
import { createServiceExchange } from '../../src/platform/outbound/exchange.ts';
import { patient } from '../../src/testing/patience.ts';

/* Servers with the transport before streamable HTTP: NousResearch/hermes-agent#106432, labring/FastGPT#7154. */

interface Rpc {
  id?: number;
  method: string;
}

const results: Record<string, object> = {
  initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'hello' }] },
};
const streams = new Map<string, ServerResponse>();
const seen: string[] = [];
/** The endpoint that the stream names. Undefined: no stream. */
let endpoint: ((session: string) => string) | undefined;

const server = createServer((request, response) => void serve(request, response));

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, 'http://127.0.0.1');
  if (request.method === 'GET') {
    if (!endpoint) return void response.writeHead(404).end();
    const session = String(streams.size + 1);
    streams.set(session, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`event: endpoint\ndata: ${endpoint(session)}\n\n`);
    return;
  }
  let text = '';
  for await (const piece of request) text += String(piece);
  if (pathname === '/sse') return void response.writeHead(405).end('Method Not Allowed');
  const { id, method } = JSON.parse(text) as Rpc;
  const session = searchParams.get('session')!;
  seen.push(`${session} ${method} ${request.headers['x-key']}`);
  response.writeHead(202).end('Accepted');
  if (method === 'tools/call' && seen.length === 4) return void streams.get(session)!.end(); // as in a restart
  if (id === undefined) return;
  streams
    .get(session)!
    .write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: results[method] })}\n\n`);
}

let target: McpServer;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`;
  const headers = { 'x-key': 'k' };
  target = {
    label: 'old',
    owner: 'workspace',
    timeoutMs: patient(10_000),
    target: { type: 'http', url, headers, isCallers: false },
  };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

let client: ClosableMcpClient;
beforeEach(() => {
  streams.clear();
  seen.length = 0;
  endpoint = (session) => `/messages?session=${session}`;
  client = createMcpClient({
    settings: () => ({
      maxBytes: 20_000,
      maxTools: 50,
      connectMs: patient(5000),
      maxSessions: 2,
      idleMs: 60_000,
      parallel: 3,
    }),
    sendOutbound: createServiceExchange(patient(5000)),
    sendService: createServiceExchange(patient(5000)),
    version: 'test',
    onMalformed: () => {},
    exited: () => {},
  });
});
afterEach(() => client.close());

const never = new AbortController().signal;
const call = { name: 'echo', arguments: {} };

it('a server with only an event stream is used, with its headers and in one session', async () => {
  expect(await client.listTools(target, never)).toMatchObject([{ name: 'echo' }]);
  await client.listTools(target, never);
  expect(await client.callTool(target, call, never)).toMatchObject({ content: [{ text: 'hello' }] });
  expect(streams.size).toBe(1);
  expect(new Set(seen.map((line) => line.split(' ')[2]))).toEqual(new Set(['k']));
});

it('the end of its stream fails the call, and the next one gets a new session', async () => {
  await client.listTools(target, never);
  await expect(client.callTool(target, call, never)).rejects.toMatchObject({ fault: 'unavailable' });
  expect(await client.callTool(target, call, never)).toMatchObject({ content: [{ text: 'hello' }] });
  expect(streams.size).toBe(2);
});

it('the failure is that of streamable HTTP if there is no stream, or one that leads elsewhere', async () => {
  const failure = { message: 'The MCP server old responded with status 405.' };
  endpoint = undefined;
  await expect(client.listTools(target, never)).rejects.toMatchObject(failure);
  endpoint = () => 'http://elsewhere.example/messages';
  await expect(client.listTools(target, never)).rejects.toMatchObject(failure);
  expect(seen).toEqual([]);
});
