import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import type { WireName } from './lab.ts';

/* What the gateway sent to a provider, independent of the wire. */

/** A call, or its result. */
export interface SentCall {
  /** On every wire of the gateway. */
  id: unknown;
  /** The function. Undefined for a result on wires that name only the call. */
  name: unknown;
  /** The arguments, or the result. JSON is parsed. */
  value: unknown;
}

/** The request of one turn. */
export interface SentTurn {
  /** Names of the functions that the model sees. */
  tools: string[];
  /** `auto` if the request does not say. The name of a function: it is forced. */
  choice: string;
  /** In the order of the request. */
  calls: SentCall[];
  results: SentCall[];
  /** Settings that stay the same in every turn. */
  settings: object;
  /** The JSON Schema of the output. */
  format: unknown;
}

type Fields = Record<string, unknown>;

/** Reads a body that the gateway has written. */
export function readSent(wire: WireName, { body }: ScriptedRequest): SentTurn {
  return readers[wire](body as Fields);
}

function readChat(body: Fields): SentTurn {
  const messages = body['messages'] as { content: unknown; tool_calls?: Fields[]; tool_call_id?: string }[];
  const functionOf = (entry: Fields) => entry['function'] as Fields;
  const { temperature, top_p, max_completion_tokens, reasoning_effort } = body;
  return {
    tools: listOf(body['tools']).map((tool) => String(functionOf(tool)['name'])),
    choice: readChoice(body['tool_choice'], (choice) => functionOf(choice)['name']),
    calls: messages
      .flatMap(({ tool_calls = [] }) => tool_calls)
      .map((call) => ({ id: call['id'], name: functionOf(call)['name'], value: parse(functionOf(call)['arguments']) })),
    results: messages
      .filter(({ tool_call_id: id }) => id !== undefined)
      .map(({ tool_call_id: id, content }) => ({ id, name: undefined, value: parse(content) })),
    settings: { temperature, top_p, max_completion_tokens, reasoning_effort },
    format: (body['response_format'] as { json_schema?: Fields } | undefined)?.json_schema?.['schema'],
  };
}

function readResponses(body: Fields): SentTurn {
  const input = listOf(body['input']);
  const of = (type: string) => input.filter((item) => item['type'] === type);
  const { temperature, top_p, max_output_tokens, reasoning } = body;
  return {
    tools: listOf(body['tools']).map(({ name }) => String(name)),
    choice: readChoice(body['tool_choice'], ({ name }) => name),
    calls: of('function_call').map(({ call_id: id, name, arguments: text }) => ({ id, name, value: parse(text) })),
    results: of('function_call_output').map(({ call_id: id, output }) => ({
      id,
      name: undefined,
      value: parse(output),
    })),
    settings: { temperature, top_p, max_output_tokens, reasoning },
    format: (body['text'] as { format?: Fields } | undefined)?.format?.['schema'],
  };
}

function readMessages(body: Fields): SentTurn {
  const blocks = listOf(body['messages']).flatMap(({ content }) => (Array.isArray(content) ? listOf(content) : []));
  const of = (type: string) => blocks.filter((block) => block['type'] === type);
  const choices: Record<string, string> = { any: 'required', none: 'none', auto: 'auto' };
  const { temperature, max_tokens, thinking } = body;
  return {
    tools: listOf(body['tools']).map(({ name }) => String(name)),
    choice: readChoice(body['tool_choice'], ({ type, name }) => choices[String(type)] ?? name),
    calls: of('tool_use').map(({ id, name, input }) => ({ id, name, value: input })),
    results: of('tool_result').map(({ tool_use_id: id, content }) => ({ id, name: undefined, value: parse(content) })),
    settings: { temperature, max_tokens, thinking },
    format: (body['output_config'] as { format?: Fields } | undefined)?.format?.['schema'],
  };
}

function readGemini(body: Fields): SentTurn {
  const parts = listOf(body['contents']).flatMap((content) => listOf(content['parts']));
  const of = (field: string) => parts.flatMap((part) => (part[field] ? [part[field] as Fields] : []));
  const settings = (body['generationConfig'] ?? {}) as Fields;
  const { functionCallingConfig = {} } = (body['toolConfig'] ?? {}) as { functionCallingConfig?: Fields };
  const [forced] = (functionCallingConfig['allowedFunctionNames'] ?? []) as string[];
  const modes: Record<string, string> = { ANY: forced ?? 'required', NONE: 'none' };
  const { temperature, topP, maxOutputTokens, thinkingConfig } = settings;
  return {
    tools: listOf(body['tools']).flatMap((tool) =>
      listOf(tool['functionDeclarations']).map(({ name }) => String(name)),
    ),
    choice: modes[String(functionCallingConfig['mode'])] ?? 'auto',
    calls: of('functionCall').map(({ id, name, args }) => ({ id, name, value: args })),
    results: of('functionResponse').map(({ id, name, response }) => ({ id, name, value: response })),
    settings: { temperature, topP, maxOutputTokens, thinkingConfig },
    format: settings['responseJsonSchema'],
  };
}

const readers: Record<WireName, (body: Fields) => SentTurn> = {
  'openai-chat': readChat,
  'openai-responses': readResponses,
  'anthropic-messages': readMessages,
  gemini: readGemini,
  'ai-sdk': readResponses, // through @ai-sdk/openai
};

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : []);

function readChoice(choice: unknown, nameOf: (choice: Fields) => unknown): string {
  if (typeof choice === 'object' && choice !== null) return String(nameOf(choice as Fields));
  return String(choice ?? 'auto');
}

function parse(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
