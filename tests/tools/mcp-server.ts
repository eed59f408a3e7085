import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/* A scripted MCP server over streamable HTTP, which can misbehave in any way. */

interface RpcMessage {
  id?: number;
  method?: string;
  params?: { name?: string; arguments?: Record<string, unknown>; requestId?: number; cursor?: string };
}

/** A request at the server. */
export interface McpRequest {
  readonly httpMethod: string;
  readonly headers: IncomingHttpHeaders;
  readonly rpc: RpcMessage;
}

/** A call in progress. */
export interface McpExchange extends McpRequest {
  readonly response: ServerResponse;
  /** Sends a JSON-RPC result as JSON. */
  result(result: object): void;
  /** Sends a JSON-RPC error as JSON. */
  error(code: number, message: string): void;
}

type Handler = (exchange: McpExchange) => void;

export interface ScriptedMcpServer {
  readonly url: string;
  readonly requests: McpRequest[];
  /** The names of the methods of the requests so far. */
  methods(): string[];
  /** Replaces the response to the next request of this method. */
  once(method: string, handler: Handler): void;
  /** Replaces the response to every request of this method. */
  always(method: string, handler: Handler): void;
  /** Removes handlers, requests and sessions. */
  reset(): void;
  close(): Promise<void>;
}

export const mcpText = (text: string) => ({ content: [{ type: 'text', text }] });

const objectSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

/** The tools that the server lists unless a handler says otherwise. */
export const scriptedTools = [
  { name: 'echo', description: 'Repeats a text.', inputSchema: objectSchema, annotations: { readOnlyHint: true } },
  { name: 'write', description: 'Writes a text.', inputSchema: objectSchema },
];

export async function startMcpServer(): Promise<ScriptedMcpServer> {
  const requests: McpRequest[] = [];
  const handlers = new Map<string, Handler>();
  const queues = new Map<string, Handler[]>();
  let sessions = 0;
  const defaults: Record<string, Handler> = {
    initialize({ result, response }) {
      response.setHeader('mcp-session-id', `session-${++sessions}`);
      result({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'scripted', version: '1' },
      });
    },
    'tools/list': ({ result }) => result({ tools: scriptedTools }),
    'tools/call': ({ result, rpc }) =>
      result(mcpText(`${rpc.params?.name}: ${String(rpc.params?.arguments?.['text'])}`)),
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString();
    const rpc = (body === '' ? {} : JSON.parse(body)) as RpcMessage;
    const method = rpc.method ?? request.method!;
    const known: McpRequest = { httpMethod: request.method!, headers: request.headers, rpc };
    requests.push(known);
    const send = (message: object): void => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, ...message }));
    };
    const handler = queues.get(method)?.shift() ?? handlers.get(method) ?? defaults[method];
    if (handler) {
      const error = (code: number, message: string): void => send({ error: { code, message } });
      return handler({ ...known, response, result: (result) => send({ result }), error });
    }
    response.statusCode = request.method === 'GET' ? 405 : rpc.id === undefined ? 202 : 500;
    response.end();
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    methods: () => requests.map(({ rpc, httpMethod }) => rpc.method ?? httpMethod),
    once(method, handler) {
      const queue = queues.get(method) ?? [];
      queues.set(method, queue);
      queue.push(handler);
    },
    always: (method, handler) => void handlers.set(method, handler),
    reset() {
      requests.length = 0;
      handlers.clear();
      queues.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
