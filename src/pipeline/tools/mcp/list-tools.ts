import { GatewayError, invalidRequest } from '../../../domain/errors.ts';
import type { InputItem } from '../../../domain/items.ts';
import { McpError, type McpAccess, type McpTool } from '../../../domain/mcp.ts';
import type { McpEntry } from './read-entry.ts';

/** The tools of a server. */
export interface McpListing {
  readonly entry: McpEntry;
  /** Those that the model may use. */
  readonly tools: readonly McpTool[];
  /** Why there are none. */
  readonly error: string | undefined;
  /** Names of `allowed_tools` that the model cannot use, because there is no such tool. */
  readonly unknown: readonly string[];
  /** Whether the input contains the listing, so that the client does not need it. */
  readonly isReplayed: boolean;
}

/** Maximum bytes of the tools of one server, as JSON. */
const MAX_LISTING_BYTES = 512 * 1024;
/** Maximum depth of the schema of a tool. */
const MAX_DEPTH = 32;

/**
 * Lists the tools of a server, or takes the listing of the input. A failure is part of the listing.
 *
 * @throws {GatewayError} `invalid_request` if the gateway does not connect to the URL; the reason of the signal
 */
export async function listMcpTools(
  entry: McpEntry,
  input: readonly InputItem[],
  access: McpAccess,
  signal: AbortSignal,
): Promise<McpListing> {
  const known = findListing(entry.label, input);
  try {
    const all = known ?? (await access.client.listTools(entry.server!, signal)); // the entry is not a connector
    const tools = all.filter((tool) => entry.allows(tool));
    checkSize(tools);
    const unknown = findUnknown(entry, all);
    const isEmpty = tools.length === 0 && unknown.length > 0;
    const error = isEmpty ? explainUnknown(entry.label, unknown, all) : undefined;
    return { entry, tools, error, unknown, isReplayed: known !== undefined };
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const { fault, code, message } = error;
    if (fault === 'blocked') throw invalidRequest([{ path: `${entry.path}.server_url`, message }]);
    if (entry.isConfigured) access.report({ server: entry.label, fault, ...(code !== undefined && { code }) });
    return { entry, tools: [], error: message, unknown: [], isReplayed: false };
  }
}

/** Finds the names of `allowed_tools` that the server does not have, or that its operator does not allow. */
function findUnknown(entry: McpEntry, all: readonly McpTool[]): string[] {
  const known = new Set(all.map(({ name }) => name));
  return [...(entry.allowedNames ?? [])].filter((name) => !known.has(name));
}

/** Maximum number of tools that a message names. */
const MAX_NAMED = 20;

function explainUnknown(label: string, unknown: readonly string[], all: readonly McpTool[]): string {
  const list = (names: readonly string[]) =>
    names
      .slice(0, MAX_NAMED)
      .map((name) => name.slice(0, 100))
      .join(', ');
  const has = all.length === 0 ? 'It has none.' : `It has ${list(all.map(({ name }) => name))}.`;
  return `The MCP server ${label} has no tool of allowed_tools (${list(unknown)}). ${has}`;
}

/** @returns the last listing of the server in the input */
function findListing(label: string, input: readonly InputItem[]): readonly McpTool[] | undefined {
  for (let at = input.length - 1; at >= 0; at--) {
    const { type, server_label, tools, error } = input[at] as { type: string } & Record<string, unknown>;
    if (type !== 'mcp_list_tools' || server_label !== label) continue;
    return typeof error === 'string' ? undefined : (tools as McpTool[]); // the schema has checked them
  }
  return undefined;
}

/** @throws {McpError} `limit` */
function checkSize(tools: readonly McpTool[]): void {
  for (const { name, input_schema: schema, annotations } of tools) {
    if (isDeeper(schema, MAX_DEPTH) || isDeeper(annotations, MAX_DEPTH)) {
      const message = `The schema of the tool ${name.slice(0, 100)} is nested more than ${MAX_DEPTH} levels deep. Leave the tool out of allowed_tools.`;
      throw new McpError('limit', message);
    }
  }
  if (Buffer.byteLength(JSON.stringify(tools)) <= MAX_LISTING_BYTES) return;
  throw new McpError('limit', `The tools have more than ${MAX_LISTING_BYTES} bytes. Choose fewer with allowed_tools.`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

/** Rejects more tools than a request may have. @throws {GatewayError} `invalid_request` */
export function checkToolCount(listings: readonly McpListing[], maxTools: number): void {
  const count = listings.reduce((sum, { tools }) => sum + tools.length, 0);
  if (count <= maxTools) return;
  const message = `tools: The MCP servers have ${count} tools; at most ${maxTools} are allowed. Choose some with \`allowed_tools\`.`;
  throw new GatewayError('invalid_request', message);
}
