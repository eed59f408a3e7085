import { isObject } from '../../schema/by-kind.ts';

type Fields = Record<string, unknown>;

/**
 * Rewrites parts, tools and choices in the shapes of the Responses and the Messages API, which some editors send to this
 * API, where their meaning is unambiguous. Works in place. A body in the shapes of this API stays as it is.
 *
 * Sources: gabrii/Cursor-Azure-GPT-5#69, Soju06/codex-lb#833, automazeio/vibeproxy#411, jwadow/kiro-gateway#49
 *
 * @see docs/reference/chat-completions.md#neighbors
 */
export function settleNeighbors(body: Fields): void {
  const { messages, tools, tool_choice: choice, response_format: format, metadata, stop } = body;
  if (Array.isArray(messages)) body['messages'] = messages.flatMap(settleMessage).map(settleTexts);
  if (Array.isArray(tools)) body['tools'] = tools.map(settleTool);
  if (isObject(choice)) body['tool_choice'] = settleChoice(choice);
  else if (choice === 'any') body['tool_choice'] = 'required'; // Mistral
  if (isObject(format) && format['type'] === 'json_schema') body['response_format'] = settleSchema(format);
  if (isObject(metadata)) body['metadata'] = settleMetadata(metadata);
  if (Array.isArray(stop)) body['stop'] = stop.filter((text) => text !== '' && text !== null);
  // The documentation of LM Studio has -1 for no limit.
  for (const name of ['max_tokens', 'max_completion_tokens']) if (body[name] === -1) delete body[name];
}

/** Writes arguments and results that are objects as JSON: they are texts in this API, and objects at Ollama. */
function settleTexts(message: unknown): unknown {
  if (!isObject(message)) return message;
  const { role, content, tool_calls: calls } = message;
  if (role === 'tool' && (content === null || content === undefined)) return { ...message, content: '' };
  if (role === 'tool' && !Array.isArray(content) && typeof content !== 'string')
    return { ...message, content: JSON.stringify(content) };
  return Array.isArray(calls) ? { ...message, tool_calls: calls.map(settleArguments) } : message;
}

function settleArguments(call: unknown): unknown {
  if (!isObject(call) || !isObject(call['function'])) return call;
  const { arguments: given } = call['function'];
  if (typeof given === 'string') return call;
  return { ...call, function: { ...call['function'], arguments: JSON.stringify(given ?? {}) } };
}

/** A schema of the Responses API, or one without a name, which only OpenAI needs. */
function settleSchema(format: Fields): Fields {
  const { type, json_schema: inner, ...flat } = format;
  const { name = 'response', ...schema } = isObject(inner) ? inner : flat;
  return { type, json_schema: { name, ...schema } };
}

/** Values of metadata are texts. Clients of LiteLLM send others, too. */
const settleMetadata = (metadata: Fields): Fields =>
  Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]) =>
      value === null ? [] : [[key, typeof value === 'string' ? value : JSON.stringify(value)]],
    ),
  );

/** Whether a body has the shape of `POST /responses`. */
export const isResponsesBody = (body: unknown): body is Fields =>
  isObject(body) && body['input'] !== undefined && body['messages'] === undefined;

function settleMessage(message: unknown): unknown[] {
  if (!isObject(message) || !Array.isArray(message['content'])) return [message];
  const { content, ...rest } = message as { content: unknown[] };
  if (!content.some(isNeighbor)) return [message];
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

/** Also a `file` with its fields beside its type: https://github.com/run-llama/llama_index/issues/20501. */
const isNeighbor = (part: unknown): boolean =>
  isObject(part) &&
  (neighbors.has(part['type']) ||
    (part['type'] === 'file' && part['file'] === undefined) ||
    (part['type'] === 'image_url' && typeof part['image_url'] === 'string'));

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
    case 'image_url': // Mistral and older clients
      return typeof rest['image_url'] === 'string' ? { ...part, image_url: { url: rest['image_url'] } } : part;
    case 'input_image': {
      const { image_url: url, detail, file_id: ___, ...more } = rest;
      return typeof url === 'string'
        ? { ...more, type: 'image_url', image_url: { url, ...(detail ? { detail } : {}) } }
        : part;
    }
    case 'file':
    case 'input_file': {
      if (rest['file'] !== undefined) return part;
      const { file_data: data, file_id: id, filename, file_url: url, ...more } = rest;
      const file = {
        ...(data ? { file_data: data } : {}),
        ...(id ? { file_id: id } : {}),
        ...(filename ? { filename } : {}),
      };
      return url || Object.keys(file).length === 0 ? part : { ...more, type: 'file', file };
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
  if (isObject(tool) && tool['type'] === undefined && isObject(tool['function'])) return { ...tool, type: 'function' };
  if (!isObject(tool) || typeof tool['name'] !== 'string') return tool;
  const { type, name, description, parameters, input_schema: schema, strict, format, ...rest } = tool;
  const named = { name, ...(description ? { description } : {}) };
  if (type === 'function' && tool['function'] === undefined) {
    const shape = {
      ...named,
      ...(parameters || isObject(schema) ? { parameters: parameters ?? schema } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    };
    return { ...rest, type, function: shape };
  }
  if ((type === undefined || type === 'custom') && isObject(schema)) {
    const { cache_control: mark } = rest;
    return { type: 'function', function: { ...named, parameters: schema }, ...(mark ? { cache_control: mark } : {}) };
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
  if (type === undefined && isObject(choice['function'])) return { ...choice, type: 'function' };
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if ((type === 'function' || type === 'tool') && typeof name === 'string')
    return { type: 'function', function: { name } };
  return type === 'custom' && typeof name === 'string' ? { type, custom: { name } } : choice;
}
