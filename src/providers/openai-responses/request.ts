import type { ResponseRequest } from '../../domain/request.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { type Dialect, readDialect } from './dialect.ts';
import { writeReasoning } from './effort.ts';
import { writeInput, writePart } from './input.ts';
import { writeToolChoice, writeTools } from './tools.ts';

/** What the reader must know of the request. */
export interface ReaderContext {
  /** Marks encrypted reasoning with the dialect that made it. */
  reasoningFormat: string;
}

/** Fields that mean the same upstream. */
const carried = [
  'instructions',
  'include',
  'frequency_penalty',
  'max_output_tokens',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'service_tier',
  'temperature',
  'text',
  'top_logprobs',
  'top_p',
  'truncation',
] as const;

/** Fields that have no place upstream. Those that the gateway itself reads (`models`, `trace`, …) are not of them. */
const placeless = ['cache_control', 'image_config', 'modalities', 'top_k'] as const;

const logprobs = 'message.output_text.logprobs';

/**
 * Translates a request. Nearly all of it is carried; what a field of the interface alone means is translated or left
 * out. `null` means "not set" and is not sent.
 *
 * @see docs/reference/wires.md
 */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext> {
  const dialect = readDialect(target.dialect);
  const dropped: string[] = [];
  const { input, tools: toolsOfItems, effort } = writeInput(request.input, dialect, dropped);
  const body: Record<string, unknown> = { model: target.upstreamModel, input, stream: target.stream, store: false };
  for (const field of carried) {
    const value = request[field];
    if (value !== undefined && value !== null) body[field] = value;
  }
  for (const field of placeless) if (request[field] !== undefined) dropped.push(field);

  const callersTools = request.tools ?? [];
  const { tools, hasHosted } = writeTools(
    toolsOfItems.length === 0 ? callersTools : [...callersTools, ...toolsOfItems],
    dropped,
  );
  if (tools.length > 0) body.tools = tools;
  // Upstream this limits hosted calls alone; calls of server tools are counted by the gateway.
  if (hasHosted && typeof request.max_tool_calls === 'number') body.max_tool_calls = request.max_tool_calls;
  if (request.tool_choice !== undefined) {
    const choice = writeToolChoice(request.tool_choice, dropped);
    if (choice !== undefined) body.tool_choice = choice;
  }
  if (request.reasoning || effort !== undefined) {
    const reasoning = writeReasoning(request.reasoning ?? {}, effort, request.max_output_tokens, dialect.efforts);
    if (reasoning) body.reasoning = reasoning;
  }
  if (request.prompt) body.prompt = writePrompt(request.prompt, dialect, dropped);
  // The upstream needs both fields, and the interface has no such value of `include`.
  if (request.top_logprobs && !request.include?.includes(logprobs)) {
    body.include = [...(request.include ?? []), logprobs];
  }
  if (target.endUser !== undefined) body.safety_identifier = target.endUser; // `user` itself never leaves us
  for (const field of dialect.omit) {
    if (!(field in body)) continue;
    delete body[field];
    dropped.push(field);
  }
  return { path: '/responses', body, dropped, readerContext: { reasoningFormat: dialect.reasoning_format } };
}

/** Variables may be content parts, with the marks that parts may have. */
function writePrompt(prompt: NonNullable<ResponseRequest['prompt']>, dialect: Dialect, dropped: string[]): unknown {
  if (!prompt.variables) return prompt;
  const variables = Object.entries(prompt.variables).map(([name, value]) => {
    return [name, typeof value === 'object' && value !== null ? writePart(value, dialect, dropped) : value];
  });
  return { ...prompt, variables: Object.fromEntries(variables) };
}
