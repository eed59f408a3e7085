import { buildMcpServers } from '../../compose/build-mcp-servers.ts';
import type { Config } from '../../config/schema.ts';
import { type McpServer, McpError } from '../../domain/mcp.ts';
import { createMcpClient } from '../../platform/mcp/mcp-client.ts';
import { createServiceExchange } from '../../platform/outbound/exchange.ts';
import type { Finding } from './finding.ts';

/** Lists the MCP servers of the configuration. With `probe`, each is started or connected, and lists its tools. */
export async function checkMcpServers({ mcp }: Config, { probe }: { probe: boolean }): Promise<Finding[]> {
  const servers = [...buildMcpServers(mcp, (named) => named).values()];
  if (servers.length === 0) return [];
  let stderr = '';
  let malformed: readonly string[] = [];
  const send = createServiceExchange(mcp.connect_ms);
  const client = createMcpClient({
    settings: () => ({
      maxBytes: mcp.max_bytes,
      maxTools: mcp.max_tools,
      connectMs: mcp.connect_ms,
      maxSessions: servers.length,
      idleMs: mcp.idle_ms,
      parallel: servers.length,
    }),
    sendOutbound: send,
    sendService: send,
    version: 'doctor',
    onMalformed(_label, tools) {
      malformed = tools;
    },
    exited(_label, end) {
      stderr = end.stderr.trim().split('\n').at(-1) ?? '';
    },
  });
  try {
    const findings: Finding[] = [];
    for (const { server } of servers) {
      const subject = `mcp ${server.label}`;
      const says = describeTarget(server);
      malformed = [];
      if (!probe) findings.push({ status: 'ok', subject, says });
      else {
        const listed = await client
          .listTools(server, AbortSignal.timeout(mcp.connect_ms * 2))
          .catch((error) => error as unknown);
        if (Array.isArray(listed)) {
          const text = `the server ${server.label} has ${listed.length} tools (${says})`;
          const problem = `${text}; malformed: ${malformed.join(', ')}`;
          const fix = 'Correct the names and the input schemas of these tools at the server. Models do not get them.';
          findings.push(
            malformed.length === 0
              ? { status: 'ok', subject, says: text }
              : { status: 'warn', subject, says: problem, fix },
          );
        } else findings.push({ status: 'fail', subject, says: explain(listed, stderr), fix: adviseOn(listed, server) });
      }
    }
    return findings;
  } finally {
    await client.close();
  }
}

/** Arguments and queries may contain secrets. */
function describeTarget({ target }: McpServer): string {
  if (target.type === 'process') return target.command;
  const { origin, pathname } = new URL(target.url);
  return `${origin}${pathname}`;
}

function explain(error: unknown, stderr: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return stderr === '' ? message : `${message} Its last error output: ${stderr.slice(0, 200)}`;
}

function adviseOn(error: unknown, { label, target }: McpServer): string {
  const setting = `mcp.servers.${label}`;
  const { fault, code } = error instanceof McpError ? error : { fault: 'timeout', code: undefined };
  if (code === 401 || code === 403) return `Check ${setting}.headers.`;
  if (fault === 'timeout') return 'Start the server, or raise mcp.connect_ms.';
  if (fault === 'limit') return 'Raise mcp.max_tools or mcp.max_bytes.';
  if (target.type === 'process')
    return `Check ${setting}.command, args and env. It gets no variables of the gateway but PATH.`;
  return `Check ${setting}.url. It must be the endpoint of streamable HTTP, which often ends with /mcp.`;
}
