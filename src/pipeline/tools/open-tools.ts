import { citeSources, type CitableSource } from '../../domain/cite-sources.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { OpenMcp, ServerTools } from '../run/server-tools.ts';
import { DeferredTools } from './deferred-tools.ts';
import { hasNative, useNativeTools } from './native-tools.ts';
import { replayItems } from './replay-items.ts';
import { hideTools, namesTool } from './named-tools.ts';
import { offerTools } from './offer-tools.ts';
import type { CallPorts } from './planned-call.ts';
import { showTools } from './show-server-tools.ts';
import { listCallerServers } from './mcp/read-entry.ts';
import { ServerToolLoop } from './tool-loop.ts';

export interface ServerToolsParts extends CallPorts {
  /** All tools of the gateway, by type. */
  tools: ReadonlyMap<string, ServerTool>;
  openMcp: OpenMcp;
  /** Whether an MCP server of the operator has this label. */
  ownsMcp(label: string): boolean;
  /** Maximum number of steps of a request with conditions. */
  maxSteps(): number;
}

/** Creates the server tools of a gateway. */
export function createServerTools({ tools, openMcp, ownsMcp, maxSteps, ...ports }: ServerToolsParts): ServerTools {
  const replacing = new Map(
    [...tools.values()].flatMap((tool) => [...(tool.hosted?.types ?? [])].map((type) => [type, tool])),
  );
  return {
    open(run) {
      const { tools: all } = run.request;
      if (!all || !namesTool(run, all, replacing)) return undefined;
      const named = run.servedTools ? hideTools(run, run.servedTools, all) : all;
      const deferred = new DeferredTools(run.request, run.input.read());
      const { offered, returned, clientNames, check } = offerTools(run, named, { tools, replacing, deferred });
      const mcp = openMcp(run, clientNames, offered);
      if (offered.size === 0 && returned.names.length === 0 && !mcp && named === all) return undefined;
      run.input.listCallIds(); // kept for the end of each step: the items are parsed now
      const found: CitableSource[] = [];
      const { max_tool_calls: limit, stop_server_tools_when: conditions } = run.request;
      const isOff = limit === 0 && conditions === undefined;
      const settings = showTools(run.request, named, isOff ? new Map() : offered, returned);
      const visible = () => (deferred.list.length === 0 ? settings : deferred.show(settings));
      return new ServerToolLoop({
        run,
        offered,
        clientNames,
        mcp,
        maxSteps: maxSteps(),
        settings: mcp ? () => mcp.show(visible()) : visible,
        adapt: (request, endpoint) => useNativeTools(request, endpoint, offered),
        isNative: (type, endpoint) => hasNative(run.request, endpoint, offered, type),
        check: isOff ? undefined : check,
        reviser: citeSources({ sources: () => (found.length > 0 ? found : undefined), named: new Set() }),
        addSources: (sources) => void found.push(...sources),
        ports,
      });
    },
    replay(run, input, endpoint) {
      const { carries } = endpoint;
      // A provider that runs MCP reads the items of servers that it calls. Such a server may have the label of ours.
      const isNative = carries?.({ what: 'tool', type: 'mcp' }) === true;
      const callers = isNative ? listCallerServers(run.request.tools) : undefined;
      const isOffered = (label: string) => run.toolLoop?.callsMcp(label) === true;
      return replayItems(input, tools, {
        isOurs: (label) => callers === undefined || (!callers.has(label) && (ownsMcp(label) || isOffered(label))),
        isOffered,
        isCarried: (type) => carries?.({ what: 'item', type }) === true,
        isNative: ({ type }) => run.toolLoop?.isNative(type, endpoint) === true,
      });
    },
  };
}
