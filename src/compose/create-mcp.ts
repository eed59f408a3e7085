import type { Config } from '../config/schema.ts';
import type { ConfiguredMcpServer, McpAccess } from '../domain/mcp.ts';
import { createMcpClient } from '../platform/mcp/mcp-client.ts';
import { createServiceExchange } from '../platform/outbound/exchange.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';

export interface McpParts {
  config: () => Config;
  servers: () => ReadonlyMap<string, ConfiguredMcpServer>;
  /** For the URLs of callers. */
  outbound: Outbound;
  version: string;
  log: WriteLog;
  rejectedKeys: Telemetry['rejectedKeys'];
}

/** Maximum time for a connection to a server of the operator. */
const CONNECT_MS = 5000;

/** Creates the access to MCP servers. Close it at shutdown: it ends the processes of servers. */
export function createMcp({
  config,
  servers,
  outbound,
  version,
  log,
  rejectedKeys,
}: McpParts): McpAccess & AsyncDisposable {
  const client = createMcpClient({
    settings() {
      const { max_bytes, connect_ms, max_sessions, idle_ms, parallel } = config().mcp;
      return {
        maxBytes: max_bytes,
        maxTools: MAX_LISTED,
        connectMs: connect_ms,
        maxSessions: max_sessions,
        idleMs: idle_ms,
        parallel,
      };
    },
    sendOutbound: outbound.exchange,
    sendService: createServiceExchange(CONNECT_MS),
    version,
    onMalformed: (server, tools) => log('mcp tools skipped', { server, tools }),
    exited: (server, { code, signal, stderr }) => log('mcp server exited', { server, code, signal, stderr }),
  });
  return {
    client,
    servers,
    limits() {
      const { mcp, outbound } = config();
      const { caller_servers, max_servers, max_tools, timeout_ms } = mcp;
      const callerServers = caller_servers && outbound.fetch;
      return { callerServers, maxServers: max_servers, maxTools: max_tools, timeoutMs: timeout_ms };
    },
    report(failure) {
      const { server, fault, code } = failure;
      const rejectsKey = fault === 'http' && (code === 401 || code === 403);
      if (!rejectedKeys.noteService(`mcp ${server}`, { status: code, rejectsKey })) log('mcp server failed', failure);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Maximum number of tools of one server, before those that a request does not use are left out. */
const MAX_LISTED = 1000;
