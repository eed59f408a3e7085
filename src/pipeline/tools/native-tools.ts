import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { Tool, ToolChoice } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { OfferedServerTool } from './planned-call.ts';

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
  for (const [name, { tool, parameters, hosted }] of offered) {
    const native = tool.native?.(parameters, endpoint, hosted);
    if (native) adapted = replaceFunction(adapted, name, native);
    if (tool.adaptInput) adapted = { ...adapted, input: tool.adaptInput(adapted.input, native !== undefined) };
  }
  return adapted;
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
  if (type === 'shell' || type === 'local_shell') return { type: 'shell' };
  return type === 'image_generation' || type === 'apply_patch' ? { type } : { type: 'web_search_preview' };
}
