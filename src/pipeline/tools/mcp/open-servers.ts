import type { Chunk } from '../../../domain/chunks.ts';
import { invalidRequest, type Issue } from '../../../domain/errors.ts';
import { createId } from '../../../domain/ids.ts';
import type { McpAccess } from '../../../domain/mcp.ts';
import type { Run } from '../../run/run.ts';
import type { ToolCall } from '../../run/step.ts';
import type { OfferedServerTool } from '../../run/server-tools.ts';
import { findApproved } from './approvals.ts';
import { type McpOffer, offerCall } from './create-mcp-tool.ts';
import { checkToolCount, listMcpTools, type McpListing } from './list-tools.ts';
import { nameByHash, nameMcpFunction } from './name-function.ts';
import type { McpEntry } from './read-entry.ts';

/** Maximum number of unknown names of a server that the metadata lists. */
const MAX_REPORTED = 50;

/** The servers of a request after they have been listed. */
export interface OpenedServers {
  readonly offers: readonly McpOffer[];
  /** The items of the listings. */
  readonly listings: Chunk[];
  /** Calls that the caller has approved. Their names are those of `approvedTools`. */
  readonly approvedCalls: ToolCall[];
  readonly approvedTools: ReadonlyMap<string, OfferedServerTool>;
}

export interface OpenParts {
  run: Run;
  access: McpAccess;
  /** Names of the caller's own tools. */
  clientNames: ReadonlySet<string>;
  /** Whether no tool of the request may run. */
  isOff: boolean;
}

/**
 * Lists servers, and finds the calls that the caller has approved.
 *
 * @throws {GatewayError} `invalid_request`; the reason of the cancellation of the run
 */
export async function openServers(chosen: readonly McpEntry[], parts: OpenParts): Promise<OpenedServers> {
  const { run, access, clientNames, isOff } = parts;
  const input = run.input.read();
  const issues: Issue[] = chosen.flatMap((entry) => refuse(entry, access));
  const approved = findApproved(input, new Set(chosen.map(({ label }) => label)), issues);
  if (issues.length > 0) throw invalidRequest(issues);
  const { signal } = run.cancellation;
  const listed = isOff ? [] : chosen;
  const listings = await Promise.all(listed.map((entry) => listMcpTools(entry, input, access, signal)));
  checkToolCount(listings, access.limits().maxTools);
  const offers = nameTools(listings, clientNames);
  const approvedTools = new Map<string, OfferedServerTool>();
  const approvedCalls = approved.map(({ id, label, name, arguments: given }): ToolCall => {
    const offer = offers.find(({ entry, tool }) => entry.label === label && tool.name === name);
    if (offer) approvedTools.set(id, offerCall(offer, access, id));
    const shown = offer?.name ?? nameMcpFunction(label, name);
    const item = { type: 'function_call', call_id: id, name: shown, arguments: given };
    return { callId: id, name: id, arguments: given, item, index: 0 };
  });
  for (const { entry, unknown } of listings) {
    if (unknown.length === 0) continue;
    const data = { server_label: entry.label, unknown_tools: unknown.slice(0, MAX_REPORTED) };
    run.stages.push({ type: 'server_tools', name: 'mcp', data });
  }
  const shown = listings.flatMap((listing) => (listing.isReplayed ? [] : [writeListing(listing)]));
  return { offers, listings: shown, approvedCalls, approvedTools };
}

/** Returns why the gateway does not call a server. */
function refuse({ server, isConfigured, path }: McpEntry, access: McpAccess): Issue[] {
  if (!server) {
    const message =
      '`connector_id` names a connector of OpenAI, which this gateway does not have. Send `server_url`, or choose a model whose provider runs connectors.';
    return [{ path: `${path}.connector_id`, message }];
  }
  if (isConfigured || access.limits().callerServers) return [];
  const message =
    '`server_url` is not allowed: this gateway calls only the MCP servers of its operator (mcp.caller_servers, outbound.fetch). Send `server_label` alone.';
  return [{ path: `${path}.server_url`, message }];
}

/** Names the tools. A name that is taken gets a hash. */
function nameTools(listings: readonly McpListing[], clientNames: ReadonlySet<string>): McpOffer[] {
  const taken = new Set(clientNames);
  return listings.flatMap(({ entry, tools }) =>
    tools.map((tool, index): McpOffer => {
      const plain = nameMcpFunction(entry.label, tool.name);
      const name = taken.has(plain) ? nameByHash(entry.label, tool.name) : plain;
      taken.add(name);
      const about = index === 0 && entry.description ? `About the server ${entry.label}: ${entry.description}` : '';
      return { entry, tool, name, description: [tool.description, about].filter(Boolean).join('\n\n') };
    }),
  );
}

function writeListing({ entry: { label }, tools, error }: McpListing): Chunk {
  const id = createId('mcpl_');
  const item = { id, type: 'mcp_list_tools', server_label: label, tools, ...(error !== undefined && { error }) };
  return { type: 'item_done', key: `mcp/${label}`, item };
}
