import { isObject } from '../../schema/by-kind.ts';

type Fields = Record<string, unknown>;

/**
 * Rewrites parts, tools and choices in the shapes of chat completions, which some clients send to this API. Works in place, and a
 * second time changes nothing.
 *
 * @see docs/reference/responses.md#shapes-of-chat-completions
 */
export function settleChatShapes(body: unknown): void {
  if (!isObject(body)) return;
  const { input, tools, tool_choice: choice } = body;
  if (Array.isArray(input)) for (const item of input) if (isObject(item)) settleItem(item);
  if (Array.isArray(tools) && tools.some(isNested)) body['tools'] = tools.map(flatten);
  if (choice === 'any') body['tool_choice'] = 'required';
  else if (isNested(choice)) body['tool_choice'] = { type: 'function', name: (choice['function'] as Fields)['name'] };
}

function settleItem(item: Fields): void {
  const { type, role, content, output } = item;
  if (Array.isArray(content) && typeof role === 'string' && content.some(isChatPart))
    item['content'] = content.map((part) => (isChatPart(part) ? settlePart(part, role) : part));
  if (type === 'function_call' && isObject(item['arguments'])) item['arguments'] = JSON.stringify(item['arguments']);
  if (type === 'function_call_output' && isObject(output)) item['output'] = JSON.stringify(output);
}

const isChatPart = (part: unknown): part is Fields =>
  isObject(part) && (part['type'] === 'text' || part['type'] === 'image_url');

function settlePart(part: Fields, role: string): Fields {
  const { type, image_url: image, ...rest } = part;
  if (type === 'text') return { ...part, type: role === 'assistant' ? 'output_text' : 'input_text' };
  const { url = image, detail } = isObject(image) ? image : {};
  return typeof url === 'string'
    ? { ...rest, type: 'input_image', image_url: url, ...(detail ? { detail } : {}) }
    : part;
}

const isNested = (tool: unknown): tool is Fields =>
  isObject(tool) && tool['type'] === 'function' && tool['name'] === undefined && isObject(tool['function']);

/** A function of chat completions is not strict unless it says so. */
function flatten(tool: unknown): unknown {
  if (!isNested(tool)) return tool;
  const { function: named, ...rest } = tool;
  return { strict: false, ...rest, ...(named as Fields) };
}
