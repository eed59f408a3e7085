import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { Tool, ToolChoice } from '../../domain/items.ts';
import { isNativePart, NATIVE_FIELD } from '../../domain/native.ts';
import type { RequestSettings, ResponseRequest } from '../../domain/request.ts';
import { atPath } from './at-path.ts';
import type { OfferedServerTool } from '../run/server-tools.ts';

/**
 * Replaces the functions of server tools by tools of the provider, where the endpoint has them.
 *
 * @param offered by the name that the model sees
 * @throws {GatewayError} `invalid_request` if a tool cannot run at this endpoint
 */
export function useNativeTools(
  request: ResponseRequest,
  endpoint: EndpointFacts,
  offered: ReadonlyMap<string, OfferedServerTool>,
): ResponseRequest {
  let adapted = request;
  for (const [name, each] of offered) {
    const native = findNative(request, endpoint, each);
    if (native) adapted = replaceFunction(adapted, name, native);
  }
  return adapted;
}

/** Whether the tool of the provider replaces an offered tool of a type at an endpoint. @throws as `useNativeTools` */
export const hasNative = (
  request: RequestSettings,
  endpoint: EndpointFacts,
  offered: ReadonlyMap<string, OfferedServerTool>,
  type: string,
): boolean =>
  [...offered.values()].some((each) => each.tool.type === type && findNative(request, endpoint, each) !== undefined);

const findNative = (
  request: RequestSettings,
  endpoint: EndpointFacts,
  { tool, path, parameters, hosted }: OfferedServerTool,
): Tool | undefined =>
  atPath(path, () => tool.native?.(parameters, endpoint, hosted)) ?? findOfFormat(request, endpoint, tool.type);

/** Finds the tool of the provider that a client of the same format has named, which means this tool. */
function findOfFormat({ native }: RequestSettings, endpoint: EndpointFacts, type: string): Tool | undefined {
  const given = native?.tools[type];
  if (!given) return undefined;
  const own = native.format === 'gemini' ? `gemini:${Object.keys(given)[0]}` : `anthropic:${String(given['type'])}`;
  if (!endpoint.carries?.({ what: 'tool', type: own })) return undefined;
  return { type: own, [NATIVE_FIELD]: given } as unknown as Tool; // `HostedTool` lists the types of one provider only
}

function replaceFunction(request: ResponseRequest, name: string, native: Tool): ResponseRequest {
  const { tools, tool_choice: choice } = request;
  const isIt = (tool: { type: string; name?: unknown }) => tool.type === 'function' && tool.name === name;
  if (!tools?.some(isIt)) return request;
  const replaced = { ...request, tools: tools.map((tool) => (isIt(tool) ? native : tool)) };
  if (typeof choice !== 'object') return replaced;
  if (isIt(choice)) replaced.tool_choice = forceTool(native);
  else if (choice.type === 'allowed_tools') {
    const allowed = choice.tools.map((tool) => (isIt(tool) ? { type: native.type } : tool));
    replaced.tool_choice = { ...choice, tools: allowed } satisfies ToolChoice;
  }
  return replaced;
}

/** The interface forces a search by the `preview` word only. */
function forceTool({ type }: Tool): ToolChoice {
  if (isNativePart({ type })) return { type } as unknown as ToolChoice; // as above
  if (type === 'shell' || type === 'local_shell') return { type: 'shell' };
  return type === 'image_generation' || type === 'apply_patch' ? { type } : { type: 'web_search_preview' };
}
