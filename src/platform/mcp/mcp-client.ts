import { createHash } from 'node:crypto';
import { McpError, type McpClient, type McpServer } from '../../domain/mcp.ts';
import type { SendExchange } from '../outbound/exchange.ts';
import type { McpSession, SessionLimits, SessionParts } from './open-session.ts';
import type { ProcessEnd } from './process-transport.ts';
import { SessionLostError } from './session-lost-error.ts';

export interface McpClientSettings extends SessionLimits {
  /** Maximum number of open sessions. */
  maxSessions: number;
  /** A session that is not used for this long is closed. */
  idleMs: number;
  /** Maximum number of listings and calls at the same time. */
  parallel: number;
}

export interface McpClientParts {
  /** Read for each call. */
  settings: () => McpClientSettings;
  /** Reaches URLs of callers. */
  sendOutbound: SendExchange;
  /** Reaches servers of the operator. */
  sendService: SendExchange;
  version: string;
  /** Called when the process of a server has ended by itself. */
  exited: (label: string, end: ProcessEnd) => void;
  /** Called with the names of the tools that a listing leaves out, because they are malformed. */
  onMalformed: (label: string, tools: readonly string[]) => void;
}

/** Wait before a process is started again, after it has failed. Doubles with each failure. */
const RESTART_MS = 1000;
const MAX_RESTART_MS = 60_000;

/** A server, with its session while there is one. */
interface Entry {
  readonly server: McpServer;
  session: Promise<McpSession> | undefined;
  /** Calls in flight. */
  active: number;
  idle: NodeJS.Timeout | undefined;
  /** Failed starts of its process in a row. */
  failures: number;
  /** Unix milliseconds: it is not started before. */
  retryAt: number;
}

/** An `McpClient` that must be closed. */
export interface ClosableMcpClient extends McpClient {
  close(): Promise<void>;
}

/**
 * Creates the client of MCP servers. It keeps sessions, and opens a new one if a server has forgotten its session. The
 * library is loaded for the first server.
 */
export function createMcpClient(parts: McpClientParts): ClosableMcpClient {
  const { settings } = parts;
  const entries = new Map<string, Entry>(); // the one used last is the last
  let active = 0;
  let isClosed = false;

  const closeSession = async (entry: Entry, key: string): Promise<void> => {
    clearTimeout(entry.idle);
    entries.delete(key);
    const opened = entry.session;
    entry.session = undefined;
    const session = await opened?.catch(() => undefined);
    await session?.close();
  };

  /** Finds the entry of a server, and makes room for a new one. */
  const enter = (key: string, server: McpServer): Entry => {
    const known = entries.get(key);
    if (known) entries.delete(key);
    else if (entries.size >= settings().maxSessions) {
      const [oldest] = [...entries].find(([, { active }]) => active === 0) ?? [];
      if (oldest === undefined) {
        const message = `The gateway has ${entries.size} sessions with MCP servers, and all are in use. Try again later.`;
        throw new McpError('limit', message);
      }
      void closeSession(entries.get(oldest)!, oldest);
    }
    const entry = known ?? { server, session: undefined, active: 0, idle: undefined, failures: 0, retryAt: 0 };
    entries.set(key, entry);
    return entry;
  };

  const open = (entry: Entry): Promise<McpSession> => {
    const { server } = entry;
    const isProcess = server.target.type === 'process';
    if (isProcess && entry.retryAt > Date.now()) {
      const seconds = Math.ceil((entry.retryAt - Date.now()) / 1000);
      return Promise.reject(
        new McpError('unavailable', `The MCP server ${server.label} has failed. It is started again in ${seconds} s.`),
      );
    }
    const forget = (): void => {
      if (entry.session === opening) entry.session = undefined;
    };
    const fail = (): void => {
      entry.retryAt = Date.now() + Math.min(RESTART_MS * 2 ** entry.failures, MAX_RESTART_MS);
      entry.failures++;
    };
    const sessionParts: SessionParts = {
      send: server.target.type === 'http' && server.target.isCallers ? parts.sendOutbound : parts.sendService,
      limits: settings(),
      version: parts.version,
      closed: forget,
      onMalformed: (tools) => parts.onMalformed(server.label, tools),
      exited(end) {
        if (entry.session !== opening) return; // it was closed
        fail();
        parts.exited(server.label, end);
      },
    };
    const opening: Promise<McpSession> = import('./open-session.ts').then(({ openSession }) =>
      openSession(server, sessionParts),
    );
    entry.session = opening;
    opening.then(
      () => {
        entry.failures = 0;
      },
      () => {
        if (isProcess && entry.session === opening) fail();
        forget();
      },
    );
    return opening;
  };

  const use = async <T>(
    server: McpServer,
    signal: AbortSignal,
    work: (session: McpSession) => Promise<T>,
  ): Promise<T> => {
    if (isClosed) throw new McpError('unavailable', 'The gateway is shutting down.');
    if (active >= settings().parallel) {
      throw new McpError('limit', `The gateway has ${active} calls of MCP servers in flight. Try again later.`);
    }
    const key = identify(server);
    const entry = enter(key, server);
    clearTimeout(entry.idle);
    entry.active++;
    active++;
    try {
      const session = await untilAborted(entry.session ?? open(entry), signal);
      try {
        return await work(session);
      } catch (error) {
        if (!(error instanceof SessionLostError)) throw error;
        // The server has forgotten the session, so it has not executed the request.
        const replaced = entry.session;
        if (replaced && (await replaced) === session) {
          entry.session = undefined;
          void session.close();
        }
        return await work(await untilAborted(entry.session ?? open(entry), signal));
      }
    } finally {
      active--;
      if (--entry.active === 0 && entries.get(key) === entry) {
        entry.idle = setTimeout(() => void closeSession(entry, key), settings().idleMs);
        entry.idle.unref();
      }
    }
  };

  return {
    listTools: (server, signal) => use(server, signal, (session) => session.listTools(signal)),
    callTool: (server, call, signal) =>
      use(server, signal, (session) => session.callTool(call, server.timeoutMs, signal)),
    async close() {
      isClosed = true;
      await Promise.all([...entries].map(([key, entry]) => closeSession(entry, key)));
    },
  };
}

/** Returns the key of the sessions of a server. It contains no secret. */
const identify = ({ owner, target }: McpServer): string =>
  createHash('sha256')
    .update(JSON.stringify([owner, target]))
    .digest('base64');

/** @throws the reason of the signal */
function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
