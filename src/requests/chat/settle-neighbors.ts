import { isObject } from '../../schema/by-kind.ts';

type Fields = Record<string, unknown>;

/**
 * Rewrites parts, tools and choices in the shapes of the Responses and the Messages API, which some editors send to this
 * API, where their meaning is unambiguous. Works in place. A body in the shapes of this API stays as it is.
 *
 * Sources: gabrii/Cursor-Azure-GPT-5#69, Soju06/codex-lb#833, automazeio/vibeproxy#411
 *
 * @see docs/reference/chat-completions.md#neighbors
 */
export function settleNeighbors(body: Fields): void {
  const { messages, tools, tool_choice: choice } = body;
  if (Array.isArray(messages)) body['messages'] = messages.flatMap(settleMessage);
  if (Array.isArray(tools)) body['tools'] = tools.map(settleTool);
  if (isObject(choice)) body['tool_choice'] = settleChoice(choice);
}

/** Whether a body has the shape of `POST /responses`. */
export const isResponsesBody = (body: unknown): body is Fields =>
  isObject(body) && body['input'] !== undefined && body['messages'] === undefined;

function settleMessage(message: unknown): unknown[] {
  if (!isObject(message) || !Array.isArray(message['content'])) return [message];
  const { content, ...rest } = message as { content: unknown[] };
  if (!content.some((part) => isObject(part) && neighbors.has(part['type']))) return [message];
  const results: Fields[] = [];
  const calls: Fields[] = [];
  const parts: unknown[] = [];
  for (const part of content as Fields[]) {
    if (part?.['type'] === 'tool_use' && message['role'] === 'assistant') calls.push(writeCall(part));
    else if (part?.['type'] === 'tool_result' && message['role'] === 'user') results.push(writeResult(part));
    else parts.push(isObject(part) ? settlePart(part) : part);
  }
  if (results.length > 0 && parts.length === 0) return results;
  const settled: Fields = { ...rest, content: parts.length === 0 ? null : parts };
  if (calls.length > 0) settled['tool_calls'] = [...((message['tool_calls'] as unknown[] | undefined) ?? []), ...calls];
  return [...results, settled];
}

/** Types of parts of other APIs. */
const neighbors: ReadonlySet<unknown> = new Set([
  ...['input_text', 'output_text', 'input_image', 'input_file'],
  ...['image', 'document', 'tool_use', 'tool_result'],
]);

const writeCall = ({ id, name, input }: Fields): Fields => ({
  id,
  type: 'function',
  function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}) },
});

const writeResult = ({ tool_use_id: id, content }: Fields): Fields => ({
  role: 'tool',
  tool_call_id: id,
  content: Array.isArray(content) ? content.map((part) => (isObject(part) ? settlePart(part) : part)) : (content ?? ''),
});

/** @returns the part itself if it has no unambiguous meaning */
function settlePart(part: Fields): Fields {
  const { type, annotations: _, logprobs: __, ...rest } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
      return { ...rest, type: 'text' };
    case 'input_image': {
      const { image_url: url, detail, file_id: ___, ...more } = rest;
      return typeof url === 'string'
        ? { ...more, type: 'image_url', image_url: { url, ...(detail ? { detail } : {}) } }
        : part;
    }
    case 'input_file': {
      const { file_data: data, file_id: id, filename, file_url: url, ...more } = rest;
      const file = {
        ...(data ? { file_data: data } : {}),
        ...(id ? { file_id: id } : {}),
        ...(filename ? { filename } : {}),
      };
      return url ? part : { ...more, type: 'file', file };
    }
    case 'image': {
      const url = readSource(rest['source']);
      const { source: _source, ...more } = rest;
      return url === undefined ? part : { ...more, type: 'image_url', image_url: { url } };
    }
    case 'document': {
      const { source, title, ...more } = rest;
      const data = isObject(source) && source['type'] === 'base64' ? readSource(source) : undefined;
      return data === undefined
        ? part
        : { ...more, type: 'file', file: { file_data: data, filename: title ?? 'document.pdf' } };
    }
    default:
      return part;
  }
}

function readSource(source: unknown): string | undefined {
  if (!isObject(source)) return undefined;
  const { type, media_type: mediaType, data, url } = source;
  if (type === 'url' && typeof url === 'string') return url;
  return type === 'base64' && typeof data === 'string' ? `data:${String(mediaType)};base64,${data}` : undefined;
}

function settleTool(tool: unknown): unknown {
  if (!isObject(tool) || typeof tool['name'] !== 'string') return tool;
  const { type, name, description, parameters, input_schema: schema, strict, format, ...rest } = tool;
  const named = { name, ...(description ? { description } : {}) };
  if (type === 'function' && tool['function'] === undefined) {
    const shape = {
      ...named,
      ...(parameters ? { parameters } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    };
    return { ...rest, type, function: shape };
  }
  if ((type === undefined || type === 'custom') && isObject(schema)) {
    return { type: 'function', function: { ...named, parameters: schema } };
  }
  if (type === 'custom' && tool['custom'] === undefined) {
    return { ...rest, type, custom: { ...named, ...(format ? { format: settleFormat(format) } : {}) } };
  }
  return tool;
}

/** A grammar is one level deeper here. */
function settleFormat(format: unknown): unknown {
  if (!isObject(format) || format['type'] !== 'grammar' || format['grammar'] !== undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function settleChoice(choice: Fields): unknown {
  const { type, name } = choice;
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if ((type === 'function' || type === 'tool') && typeof name === 'string')
    return { type: 'function', function: { name } };
  return type === 'custom' && typeof name === 'string' ? { type, custom: { name } } : choice;
}
