import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  ErrorCode,
  McpError as LibraryError,
  ResultSchema,
  ToolSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { JsonSchemaValidatorResult, jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { McpError, type McpResult, type McpServer, type McpTool } from '../../domain/mcp.ts';
import type { SendExchange } from '../outbound/exchange.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { createServerMask } from './hide-secrets.ts';
import { type ProcessEnd, ProcessTransport } from './process-transport.ts';
import { SessionFetch } from './session-fetch.ts';
import { isSessionLost, isSessionLostError, SessionLostError } from './session-lost-error.ts';

export interface SessionLimits {
  /** Maximum bytes of one response or message. */
  maxBytes: number;
  /** Maximum number of tools in a listing. */
  maxTools: number;
  /** Time limit of the handshake, and of a listing. */
  connectMs: number;
}

export interface SessionParts {
  /** Reaches the server, if it has a URL. */
  send: SendExchange;
  limits: SessionLimits;
  /** Version of the gateway, for the server. */
  version: string;
  /** Called once, when the session can no longer be used. */
  closed: () => void;
  exited: (end: ProcessEnd) => void;
  onMalformed: (tools: readonly string[]) => void;
}

/** An initialized session with a server. */
export interface McpSession {
  listTools(signal: AbortSignal): Promise<McpTool[]>;
  callTool(
    call: { name: string; arguments: Readonly<Record<string, unknown>> },
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<McpResult>;
  close(): Promise<void>;
}

/** Maximum pages of a listing. */
const MAX_PAGES = 50;

/** The fields of a tool that the gateway reads. */
const toolSchema = ToolSchema.pick({ name: true, description: true, inputSchema: true, annotations: true });

/** Accepts every result. The gateway passes results on, and does not compile schemas of servers. */
const noValidator: jsonSchemaValidator = {
  getValidator<T>() {
    return (data): JsonSchemaValidatorResult<T> => ({ valid: true, data: data as T, errorMessage: undefined });
  },
};

/**
 * Connects to a server and performs the handshake. Nothing else of the gateway imports the client library.
 *
 * @throws {McpError}
 */
export async function openSession({ target, label }: McpServer, parts: SessionParts): Promise<McpSession> {
  const mask = createServerMask({ target });
  const { send, limits, version, closed, exited } = parts;
  const { maxBytes, connectMs } = limits;
  const createClient = (): Client =>
    new Client({ name: 'headgate', version }, { capabilities: {}, jsonSchemaValidator: noValidator });
  let client = createClient();
  let transport: Transport;
  let openOlder: (() => Promise<void>) | undefined;
  let closeHttp: (() => Promise<void>) | undefined;
  let giveUp: (() => void) | undefined;
  let lastError: unknown; // of the transport, which reports some failures only here
  if (target.type === 'http') {
    const link = new SessionFetch({
      send,
      headers: target.headers,
      maxBytes,
      idleMs: MAX_IDLE_MS,
      acceptMs: connectMs,
      ended: (id, failure) => setImmediate(() => failRequest(transport, id, failure)),
    });
    const http = new StreamableHTTPClientTransport(new URL(target.url), {
      fetch: link.fetch,
      reconnectionOptions: {
        initialReconnectionDelay: 200,
        maxReconnectionDelay: 5000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 3,
      },
    });
    transport = http as Transport; // its optional fields differ from those of the interface
    giveUp = () => link.giveUp();
    closeHttp = async () => {
      await withLimit(http.terminateSession(), TERMINATE_MS);
      link.close();
    };
    openOlder = async () => {
      link.takesEvents = true;
      const older = new SSEClientTransport(new URL(target.url), { fetch: link.fetch });
      transport = older as Transport;
      closeHttp = async () => link.close();
      client = createClient();
      await withDeadline(client.connect(transport, timeouts), connectMs);
      client.onerror = () => void client.close(); // a new stream would be another session
    };
  } else transport = new ProcessTransport(target, maxBytes, exited);

  const timeouts = { timeout: connectMs, maxTotalTimeout: connectMs };
  client.onerror = (error) => {
    if (error instanceof McpError) lastError = error;
    if (error.message.startsWith('Maximum reconnection attempts')) giveUp?.();
  };
  const explain = (error: unknown): unknown => explainFailure(error, lastError, { label, target, mask });
  const close = async (): Promise<void> => {
    await closeHttp?.().catch(() => {});
    await client.close().catch(() => {});
  };
  try {
    await client.connect(transport, timeouts);
  } catch (error) {
    const isOpen =
      openOlder && isOfOlder(error)
        ? await openOlder().then(
            () => true,
            () => false,
          )
        : false;
    if (!isOpen) {
      await close();
      throw explain(error);
    }
  }
  client.onclose = closed;
  const ask = async <T>(work: (options: RequestOptions) => Promise<T>, timeout: number, signal: AbortSignal) => {
    try {
      return await work({ timeout, maxTotalTimeout: timeout, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw explain(error);
    }
  };
  return {
    close,
    async listTools(signal) {
      const tools: McpTool[] = [];
      if (!client.getServerCapabilities()?.tools) return tools;
      const malformed: string[] = [];
      let cursor: string | undefined;
      const endsAt = performance.now() + connectMs;
      for (let page = 0; page < MAX_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const listed = await ask(
          (options) => client.request({ method: 'tools/list', params }, ResultSchema, options),
          Math.max(1, endsAt - performance.now()),
          signal,
        );
        if (!Array.isArray(listed['tools'])) throw invalid(label);
        for (const found of mask(listed['tools']) as unknown[]) {
          const read = toolSchema.safeParse(withoutNulls(found));
          if (!read.success) {
            malformed.push(nameOf(found) ?? `tool ${tools.length + malformed.length + 1}`);
            continue;
          }
          const { name, description, inputSchema, annotations } = read.data;
          tools.push({
            name,
            ...(description !== undefined && { description }),
            input_schema: inputSchema,
            ...(annotations && { annotations }),
          });
        }
        if (tools.length + malformed.length > limits.maxTools) {
          throw new McpError('limit', `The MCP server ${label} has more than ${limits.maxTools} tools.`);
        }
        cursor = typeof listed['nextCursor'] === 'string' ? listed['nextCursor'] : '';
        if (cursor !== '') continue;
        if (malformed.length > 0) parts.onMalformed(malformed);
        return tools;
      }
      throw new McpError('limit', `The MCP server ${label} lists its tools on more than ${MAX_PAGES} pages.`);
    },
    async callTool(call, timeoutMs, signal) {
      const params = { name: call.name, arguments: { ...call.arguments } };
      const { content, structuredContent, isError } = await ask(
        (options) => client.request({ method: 'tools/call', params }, CallToolResultSchema, options),
        timeoutMs,
        signal,
      );
      return mask({ content, structuredContent, isError: isError === true });
    },
  };
}

/**
 * Whether a failure of the handshake can be that of a server with the transport before streamable HTTP, which has only an event
 * stream at its URL.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#backwards-compatibility
 */
const isOfOlder = (error: unknown): boolean =>
  error instanceof StreamableHTTPError && [400, 404, 405, 406, 411, 415].includes(error.code ?? 0);

/** Leaves out the fields of a tool that are null, which some servers send for absent ones. */
const withoutNulls = (tool: unknown): unknown =>
  typeof tool === 'object' && tool !== null
    ? Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== null))
    : tool;

const nameOf = (tool: unknown): string | undefined => {
  const name = (tool as { name?: unknown } | null)?.name;
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_NAME) : undefined;
};
const MAX_NAME = 128;

/** Maximum idle time within a response. The time limit of a call is shorter, or ends it first. */
const MAX_IDLE_MS = 600_000;
/** Time for a server to end a session. */
const TERMINATE_MS = 1000;

/** Fails a request whose response has ended without a result. A request that has a result is no longer pending. */
function failRequest(transport: Transport, id: number | string, failure: McpError | undefined): void {
  const message = failure?.message ?? INTERRUPTED;
  transport.onmessage?.({
    jsonrpc: '2.0',
    id,
    error: { code: ErrorCode.ConnectionClosed, message, data: new McpError(failure?.fault ?? 'unavailable', message) },
  });
}

const INTERRUPTED = 'The MCP server interrupted its response.';

/** @throws {Error} if the work takes longer. The work goes on until its session is closed. */
async function withDeadline(work: Promise<unknown>, limitMs: number): Promise<void> {
  let isDone = false;
  const done = work.then(() => {
    isDone = true;
  });
  await withLimit(done, limitMs);
  if (!isDone) await Promise.race([done, Promise.reject(new Error('The server sends no endpoint.'))]);
}

async function withLimit(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work.catch(() => {}), over]).finally(() => clearTimeout(timer));
}

/** Reasons that the operator can remove → how. */
const hints: ReadonlyMap<string, string> = new Map([
  ['blocked_address', 'The operator can allow it with outbound.allow.'],
  ['blocked_port', 'The operator can allow it with outbound.allow, as host:port.'],
]);

/** Returns the failure for callers. It contains no text of a header or a body, except the message of a JSON-RPC error. */
function explainFailure(
  error: unknown,
  reported: unknown,
  { label, target, mask }: Pick<McpServer, 'label' | 'target'> & { mask: (text: string) => string },
): unknown {
  if (error instanceof McpError) return error;
  const isClosed = isOfLibrary(error, ErrorCode.ConnectionClosed);
  const cause = isClosed && reported instanceof McpError ? reported : error;
  if (cause instanceof McpError) return cause;
  if (cause instanceof OutboundError) {
    const { reason, message } = cause;
    const fault = blocked.has(reason) ? 'blocked' : reason === 'timeout' ? 'timeout' : 'unavailable';
    const remedy = target.type === 'http' && target.isCallers ? hints.get(reason) : undefined;
    return new McpError(fault, `The MCP server ${label} cannot be reached: ${message}${remedy ? ` ${remedy}` : ''}`);
  }
  if (cause instanceof StreamableHTTPError) {
    const { code = -1 } = cause;
    if (code >= 300) {
      const isOurs = target.type === 'http' && !target.isCallers && Object.keys(target.headers).length > 0;
      const rejectsKey = isOurs && (code === 401 || code === 403);
      const says = rejectsKey ? `rejects the key of the gateway (status ${code})` : `responded with status ${code}`;
      const Failure = isSessionLost(code, cause.message) ? SessionLostError : McpError;
      return new Failure('http', `The MCP server ${label} ${says}.`, code);
    }
    return new McpError('protocol', `The MCP server ${label} did not respond with JSON or an event stream.`);
  }
  if (cause instanceof LibraryError) {
    if (cause.data instanceof McpError) return cause.data; // of `failRequest`
    if (isOfLibrary(cause, ErrorCode.RequestTimeout)) {
      return new McpError('timeout', `The MCP server ${label} did not respond in time.`);
    }
    if (isClosed) {
      const ended = target.type === 'process' ? `The process of the MCP server ${label} ended.` : INTERRUPTED;
      return new McpError('unavailable', ended);
    }
    const { code } = cause;
    const message = mask(cause.message.replace(/^MCP error -?\d+: /, '')).slice(0, MAX_MESSAGE);
    const Failure = isSessionLostError(code, message) ? SessionLostError : McpError;
    return new Failure('protocol', message, code);
  }
  return invalid(label);
}

const invalid = (label: string): McpError =>
  new McpError('protocol', `The MCP server ${label} sent an invalid MCP message.`);

const MAX_MESSAGE = 1000;

/** Texts of the failures that the client library itself finds. Servers send errors with the same codes. */
const ownFailures = /^MCP error -?\d+: (Connection closed|Request timed out|Maximum total timeout exceeded)$/;

const isOfLibrary = (error: unknown, code: ErrorCode): boolean =>
  error instanceof LibraryError && error.code === code && ownFailures.test(error.message);

const blocked: ReadonlySet<string> = new Set([
  'invalid_url',
  'unsupported_scheme',
  'has_credentials',
  'blocked_port',
  'blocked_address',
]);
