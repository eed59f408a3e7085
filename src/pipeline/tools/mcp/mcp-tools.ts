import type { InputItem } from '../../../domain/items.ts';
import type { McpAccess } from '../../../domain/mcp.ts';
import type { RequestSettings } from '../../../domain/request.ts';
import type { Run } from '../../run/run.ts';
import type {
  ApprovedCalls,
  McpPart,
  OfferedServerTool,
  OpenMcp,
  PrepareTools,
  PreparedTools,
} from '../../run/server-tools.ts';
import { createStep, type ResponseStep } from '../../run/step.ts';
import { type McpOffer, offerApproval, offerCall } from './create-mcp-tool.ts';
import { LeadingSink } from './leading-sink.ts';
import { openServers } from './open-servers.ts';
import { type McpEntry, readMcpEntries } from './read-entry.ts';
import { checkMcpChoice, showMcpTools } from './show-tools.ts';

/** Creates the MCP servers of requests. */
export const createOpenMcp =
  (access: McpAccess): OpenMcp =>
  (run, clientNames, offered) =>
    run.request.tools?.some(({ type }) => type === 'mcp')
      ? new McpTools({ run, access, clientNames, offered })
      : undefined;

interface McpToolsParts {
  run: Run;
  access: McpAccess;
  /** Names of the caller's own tools. */
  clientNames: ReadonlySet<string>;
  /** The server tools of the run, by the name that the model sees. Gets those of the servers when they are listed. */
  offered: Map<string, OfferedServerTool>;
}

/** The MCP servers of one request. */
class McpTools implements McpPart {
  private readonly parts: McpToolsParts;
  private readonly entries: readonly McpEntry[];
  /** The servers that the gateway calls. Empty until it is known where the request goes. */
  private chosen: readonly McpEntry[] = [];
  private offers: readonly McpOffer[] = [];

  /** @throws {GatewayError} `invalid_request` for an unknown server, or fields that no request may have */
  constructor(parts: McpToolsParts) {
    this.parts = parts;
    this.entries = readMcpEntries(parts.run.request.tools ?? [], parts.access, parts.run.caller);
  }

  choose({ endpoints }: ResponseStep['plan']): boolean {
    const { reach } = this.parts.run.caller;
    const isNative = !reach && endpoints.some(({ carries }) => carries?.({ what: 'tool', type: 'mcp' }) === true);
    this.chosen = this.entries.filter(({ isConfigured }) => isConfigured || !isNative);
    return this.chosen.length > 0;
  }

  calls(label: string): boolean {
    return this.chosen.some((entry) => entry.label === label);
  }

  show(settings: Partial<RequestSettings>): Partial<RequestSettings> {
    if (this.chosen.length === 0) return settings;
    const { tools, tool_choice: choice } = this.parts.run.request;
    const whole = { ...(tools && { tools }), ...(choice !== undefined && { tool_choice: choice }), ...settings };
    return showMcpTools(whole, this.chosen, this.offers);
  }

  async prepare(loop: ApprovedCalls, ...args: Parameters<PrepareTools>): Promise<PreparedTools> {
    const [step, out, filter] = args;
    const { run, access, offered } = this.parts;
    const { endpoints } = step.plan;
    if (this.chosen.length === 0) return { step, out, calls: [], results: [] };
    const opened = await openServers(this.chosen, { ...this.parts, isOff: loop.isOff });
    const { offers, approvedCalls: calls, approvedTools } = opened;
    this.offers = offers;
    checkMcpChoice(run.request.tool_choice, this.chosen, offers);
    for (const offer of offers) {
      const needsApproval = offer.entry.needsApproval(offer.tool.name);
      offered.set(offer.name, needsApproval ? offerApproval(offer) : offerCall(offer, access));
    }
    const leading = new LeadingSink(opened.listings, out);
    let results: readonly InputItem[] = [];
    if (calls.length > 0) {
      for (const [id, tool] of approvedTools) offered.set(id, tool);
      const shown = filter ? filter(leading) : leading;
      // No model makes these calls. The first one reads the results.
      results = await loop.run({ number: -1, toolCalls: calls, committed: { endpoint: endpoints[0]! } }, shown);
      if (filter) await shown.write([{ type: 'step_end' }]);
      for (const id of approvedTools.keys()) offered.delete(id);
    }
    const firstItem = (run.builder?.items.length ?? 0) + leading.waiting;
    const next: ResponseStep = createStep(step.plan, { firstItem, settings: loop.settings });
    run.steps.splice(run.steps.indexOf(step), 1, next);
    return { step: next, out: leading, calls: calls.map(({ item }) => item as InputItem), results };
  }
}
