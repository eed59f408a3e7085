import { canSearchNatively } from '../../domain/native-search.ts';
import type { Caller } from '../../domain/caller.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { Issue } from '../../domain/errors.ts';
import { FUSION_TOOL } from '../../domain/fusion.ts';
import type { GatewayTool } from '../../domain/items.ts';
import type { FindSearchEngine } from '../../domain/web-search.ts';
import type { ServerTool } from '../server-tool.ts';

/** What decides which tools a panel has. */
export interface PanelToolPorts {
  findSearchEngine: FindSearchEngine;
  /** Whether the gateway fetches from the web. */
  mayFetch(): boolean;
  /** Returns a tool of the gateway. */
  findTool(type: string): ServerTool | undefined;
}

/** Tools that a panel cannot use: it must not nest, and its responses contain no patches. */
const unfit: ReadonlySet<string> = new Set([FUSION_TOOL, 'router:apply_patch']);

interface PanelTool {
  type: string;
  parameters?: Record<string, unknown>;
}

/** Returns the problems of the tools that a request gives to a panel, with paths such as `[0].type`. */
export function checkPanelTools(tools: readonly unknown[], findTool: PanelToolPorts['findTool']): Issue[] {
  return (tools as PanelTool[]).flatMap(({ type, parameters = {} }, index): Issue[] => {
    const shown = JSON.stringify(type.slice(0, 100));
    if (unfit.has(type)) return [{ path: `[${index}].type`, message: `is ${shown}, which a panel cannot use` }];
    const tool = findTool(type);
    if (tool) {
      return tool.checkParameters(parameters).map((issue) => ({ ...issue, path: `[${index}].${issue.path}` }));
    }
    return [{ path: `[${index}].type`, message: `names no server tool of this gateway: ${shown}` }];
  });
}

/** Returns the tools of a panel whose request names none: search and fetch, where they are available. */
export function listDefaultTools(
  { findSearchEngine, mayFetch }: PanelToolPorts,
  { defaults }: Caller,
  endpoints: readonly EndpointFacts[],
): GatewayTool[] {
  const isEnabled = (type: string) => defaults?.disabledTools?.includes(type) !== true;
  const noFilters = { include: [], exclude: [] };
  const searches =
    findSearchEngine(undefined) !== undefined ||
    (endpoints.length > 0 && endpoints.every((endpoint) => canSearchNatively(endpoint, noFilters)));
  return [
    ...(searches && isEnabled('router:web_search') ? [{ type: 'router:web_search' as const }] : []),
    ...(mayFetch() && isEnabled('router:web_fetch') ? [{ type: 'router:web_fetch' as const }] : []),
  ];
}
