import { canSearchNatively } from '../../domain/native-search.ts';
import type { Caller } from '../../domain/caller.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { Issue } from '../../domain/errors.ts';
import { FUSION_TOOL } from '../../domain/fusion.ts';
import type { GatewayTool } from '../../domain/items.ts';
import type { FindSearchEngine } from '../../domain/web-search.ts';
import { checkInnerTools, type FindTool, type InnerTool } from '../check-inner-tools.ts';

/** Settings that decide the tools of a panel. */
export interface PanelToolPorts {
  findSearchEngine: FindSearchEngine;
  /** Whether the gateway fetches from the web. */
  mayFetch(): boolean;
  findTool: FindTool;
}

/** Tools that a panel cannot use: it must not nest, and its responses contain no patches. */
const unfit: ReadonlySet<string> = new Set([FUSION_TOOL, 'router:apply_patch']);

/** Returns the problems of the tools that a request gives to a panel, with paths such as `[0].type`. */
export function checkPanelTools(tools: readonly unknown[], findTool: FindTool, caller?: Caller): Issue[] {
  const named = tools as readonly InnerTool[]; // the schema has checked their shape
  const nested = named.flatMap(({ type }, index): Issue[] =>
    unfit.has(type) ? [{ path: `[${index}].type`, message: `\`type\` is ${type}, which a panel cannot use.` }] : [],
  );
  const others = checkInnerTools(named, findTool, caller).map((issue) => ({
    ...issue,
    path: issue.path.replace(/^parameters\.tools/, ''),
  }));
  return [...nested, ...others];
}

/** Returns the tools of a panel whose request names none: search and fetch, where they are available. */
export function listDefaultTools(
  { findSearchEngine, mayFetch }: PanelToolPorts,
  { defaults, reach }: Caller,
  endpoints: readonly EndpointFacts[],
): GatewayTool[] {
  const isEnabled = (type: string) =>
    defaults?.disabledTools?.includes(type) !== true && (reach === undefined || reach.mayUse(type));
  const noFilters = { include: [], exclude: [] };
  const searches =
    findSearchEngine(undefined) !== undefined ||
    (!reach && endpoints.length > 0 && endpoints.every((endpoint) => canSearchNatively(endpoint, noFilters)));
  return [
    ...(searches && isEnabled('router:web_search') ? [{ type: 'router:web_search' as const }] : []),
    ...(mayFetch() && isEnabled('router:web_fetch') ? [{ type: 'router:web_fetch' as const }] : []),
  ];
}
