import type { Caller } from '../../../domain/caller.ts';
import { invalidRequest, type Issue } from '../../../domain/errors.ts';
import type { HostedTool, Tool } from '../../../domain/items.ts';
import { findToolPath } from '../../../domain/late-tools.ts';
import type { ConfiguredMcpServer, McpAccess, McpServer, McpTool } from '../../../domain/mcp.ts';

/** The fields of an `mcp` tool. The schema has checked their shape. */
interface Fields {
  server_label: string;
  server_url?: string;
  connector_id?: string;
  server_description?: string;
  authorization?: string;
  headers?: Record<string, string> | null;
  allowed_tools?: string[] | { tool_names?: string[]; read_only?: boolean } | null;
  require_approval?:
    | 'always'
    | 'never'
    | { always?: { tool_names?: string[] }; never?: { tool_names?: string[] } }
    | null;
}

/** An `mcp` tool of a request. */
export interface McpEntry {
  /** The tool itself. */
  readonly hosted: HostedTool;
  /** `tools[0]`. */
  readonly path: string;
  readonly label: string;
  /** Undefined: it names a connector, which only a provider has. */
  readonly server: McpServer | undefined;
  /** Whether the server is one of the operator's, which no provider can reach. */
  readonly isConfigured: boolean;
  readonly description: string | undefined;
  /** Whether the model may use the tool. */
  allows(tool: McpTool): boolean;
  /** Names of `allowed_tools`. Undefined: all tools are allowed. */
  readonly allowedNames: ReadonlySet<string> | undefined;
  needsApproval(name: string): boolean;
}

/**
 * Reads the `mcp` tools of a request.
 *
 * @throws {GatewayError} `invalid_request` for an unknown server, or fields that no request may have
 */
export function readMcpEntries(tools: readonly Tool[], access: McpAccess, caller: Caller): readonly McpEntry[] {
  const issues: Issue[] = [];
  const labels = new Set<string>();
  const entries = tools.flatMap((tool, index) => {
    if (tool.type !== 'mcp') return [];
    const path = findToolPath(tool, index);
    const entry = readEntry(tool as HostedTool, path, { access, caller, issues });
    if (labels.has(entry.label)) {
      issues.push({
        path: `${path}.server_label`,
        message: '`server_label` repeats that of another server; choose another',
      });
    }
    labels.add(entry.label);
    return [entry];
  });
  const { maxServers } = access.limits();
  if (entries.length > maxServers) {
    issues.push({
      path: 'tools',
      message: `\`tools\` has ${entries.length} MCP servers; at most ${maxServers} are allowed`,
    });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return entries;
}

/** Whether a tool names a server of the operator, and not one of the caller by its URL or connector. */
const isNamed = ({ server_url: url, connector_id: connector }: Fields): boolean =>
  url === undefined && connector === undefined;

/** Returns the labels of the servers that are not the operator's. */
export function listCallerServers(tools: readonly Tool[] = []): ReadonlySet<string> {
  const entries = tools.filter(({ type }) => type === 'mcp') as unknown as Fields[]; // see there
  return new Set(entries.filter((entry) => !isNamed(entry)).map(({ server_label: label }) => label));
}

/** @param issues gets its problems */
function readEntry(
  hosted: HostedTool,
  path: string,
  { access, caller, issues }: { access: McpAccess; caller: Caller; issues: Issue[] },
): McpEntry {
  const fields = hosted as unknown as Fields; // see there
  const { server_label: label, allowed_tools: allowed } = fields;
  const isConfigured = isNamed(fields);
  const configured = isConfigured ? findConfigured(access, label, caller) : undefined;
  if (isConfigured && !configured) {
    const known = listLabels(access, caller);
    const has = known.length > 0 ? `it has ${known.map((name) => `\`${name}\``).join(', ')}` : 'it has none';
    const message = `\`server_label\` names no MCP server of this gateway that your workspace may use; ${has}. Send \`server_url\` to use another server.`;
    issues.push({ path: `${path}.server_label`, message });
  }
  for (const key of ['authorization', 'headers'] as const) {
    if (!isConfigured || fields[key] === undefined || fields[key] === null) continue;
    issues.push({ path: `${path}.${key}`, message: `\`${key}\` is set by the operator of this server; leave it out` });
  }
  const approval = readApproval(fields.require_approval ?? configured?.approval ?? 'always');
  const { names, readOnly } = readAllowed(allowed);
  return {
    hosted,
    path,
    label,
    isConfigured,
    server: configured ? ownSessions(configured.server, caller) : readServer(fields, path, { access, caller, issues }),
    allowedNames: names,
    description: fields.server_description ?? configured?.description,
    allows({ name, annotations }) {
      if (configured?.allowedTools?.has(name) === false || names?.has(name) === false) return false;
      return !readOnly || (annotations as { readOnlyHint?: unknown } | undefined)?.readOnlyHint === true;
    },
    needsApproval: approval,
  };
}

function findConfigured(access: McpAccess, label: string, caller: Caller): ConfiguredMcpServer | undefined {
  const found = access.servers().get(label);
  return found && mayUse(found, caller) ? found : undefined;
}

const mayUse = ({ workspaces }: ConfiguredMcpServer, { workspaceId }: Caller): boolean =>
  workspaces === undefined || workspaces.has(workspaceId);

const listLabels = (access: McpAccess, caller: Caller): string[] =>
  [...access.servers()].flatMap(([label, server]) => (mayUse(server, caller) ? [label] : []));

/** A process serves all workspaces. A server with a URL has a session for each. */
const ownSessions = (server: McpServer, { workspaceId }: Caller): McpServer =>
  server.target.type === 'process' ? server : { ...server, owner: workspaceId };

/** Maximum number and characters of the headers of a server. */
const MAX_HEADERS = 32;
const MAX_HEADER_CHARACTERS = 16_384;

/** Headers of the connection or of the protocol. */
const reserved: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'keep-alive',
  'accept',
  'accept-encoding',
  'mcp-session-id',
  'mcp-protocol-version',
  'last-event-id',
  'proxy-authorization',
  'proxy-connection',
  'proxy-authenticate',
]);

/** Reads a server that the caller names by its URL. */
function readServer(
  { server_label: label, server_url: url, authorization, headers }: Fields,
  path: string,
  { access, caller, issues }: { access: McpAccess; caller: Caller; issues: Issue[] },
): McpServer | undefined {
  if (url === undefined) return undefined;
  if (!/^[\w-]{1,64}$/.test(label)) {
    issues.push({
      path: `${path}.server_label`,
      message: '`server_label` must be 1 to 64 letters, digits, `_` or `-`',
    });
  }
  if (!URL.canParse(url)) {
    issues.push({
      path: `${path}.server_url`,
      message: '`server_url` is not a URL; send one such as https://mcp.example.com/mcp',
    });
  }
  const sent: Record<string, string> = {};
  const entries = Object.entries(headers ?? {});
  if (authorization !== undefined) {
    sent['authorization'] = `Bearer ${authorization}`;
    if (!/^[\x21-\x7e]+$/.test(authorization)) {
      issues.push({
        path: `${path}.authorization`,
        message: '`authorization` must be a token of visible ASCII characters',
      });
    }
  }
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const place = `${path}.headers.${name.slice(0, 100)}`;
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) issues.push({ path: place, message: 'The name of the header is invalid' });
    else if (reserved.has(lower))
      issues.push({ path: place, message: 'The header is set by the gateway; leave it out' });
    else if (!/^[\x20-\x7e\t]*$/.test(value))
      issues.push({ path: place, message: 'The header must have a value of ASCII characters' });
    else if (Object.hasOwn(sent, lower))
      issues.push({ path: place, message: 'The header is given twice; leave one out' });
    else sent[lower] = value;
  }
  if (entries.length > MAX_HEADERS || JSON.stringify(sent).length > MAX_HEADER_CHARACTERS) {
    const message = `\`headers\` must have at most ${MAX_HEADERS} headers and ${MAX_HEADER_CHARACTERS} characters`;
    issues.push({ path: `${path}.headers`, message });
  }
  return {
    label,
    owner: `${caller.workspaceId} ${caller.keyHash}`,
    timeoutMs: access.limits().timeoutMs,
    target: { type: 'http', url, headers: sent, isCallers: true },
  };
}

/** A tool that no list names needs approval, and so does one that both lists name. */
function readApproval(given: NonNullable<Fields['require_approval']>): McpEntry['needsApproval'] {
  if (given === 'always' || given === 'never') return () => given === 'always';
  const always = new Set(given.always?.tool_names);
  const never = new Set(given.never?.tool_names);
  return (name) => always.has(name) || !never.has(name);
}

/** @returns `names` undefined: all */
function readAllowed(given: Fields['allowed_tools']): { names: ReadonlySet<string> | undefined; readOnly: boolean } {
  if (given === null || given === undefined) return { names: undefined, readOnly: false };
  if (Array.isArray(given)) return { names: new Set(given), readOnly: false };
  const { tool_names: names, read_only: readOnly = false } = given;
  return { names: names && new Set(names), readOnly };
}
