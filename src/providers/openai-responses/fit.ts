import type {
  FunctionCallItem,
  InputItem,
  MessageItem,
  MessagePart,
  ReasoningEffort,
  Tool,
  ToolOutputPart,
} from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { Draft } from '../kit/draft.ts';
import { createIdFitter } from '../rules/fit/call-ids.ts';
import { addFields, fitFields, type Situation } from '../rules/fit/fields.ts';
import { fitFormat, fitStrictFormat } from '../rules/fit/format.ts';
import { createNameFitter } from '../rules/fit/names.ts';
import { mustOmitFunctions, requestCall } from '../rules/fit/offer.ts';
import { dropPaths } from '../rules/fit/paths.ts';
import { fitSchema, canBeStrict } from '../rules/fit/schemas.ts';
import { INSTRUCTION, NO_RESULT } from '../rules/fit/texts.ts';
import type { Dialect } from './dialect.ts';
import { writeOnlyFunctions } from './only-functions.ts';

/** A draft of this wire. */
export interface ResponsesDraft extends Draft {
  dialect: Dialect;
}

/** A body of `/responses` before and after it is fitted. */
export type WireBody = Record<string, unknown> & {
  input: InputItem[];
  tools?: Tool[];
  text?: { format?: ResponsesFormat; verbosity?: string };
};

interface ResponsesFormat {
  type: string;
  name?: string;
  schema?: Record<string, unknown>;
  strict?: boolean;
  description?: string;
}

/**
 * Fits a body to the rules of its endpoint, in a fixed order: results, system messages, other messages, ids, tools, choice, format, reasoning, single fields, limits.
 * Items of the client are copied before they change.
 *
 * @throws {GatewayError} `invalid_request` that names the rule, if the request cannot be adapted
 * @see docs/reference/provider-rules.md
 */
export function fitBody(draft: ResponsesDraft, body: WireBody): void {
  const { dialect } = draft;
  if (dialect.turns?.results) fitResults(draft, body);
  const { system = 'anywhere' } = dialect.turns ?? {};
  if (system !== 'anywhere') fitSystem(draft, body, system);
  const { assistant = 'any', object_arguments: needsObjects, whole_messages: needsWhole } = dialect.turns ?? {};
  if (assistant !== 'any') dropEmpty(draft, body);
  if (needsObjects) fitArguments(draft, body);
  if (needsWhole) completeMessages(draft, body);
  if (dialect.tools?.only_functions) writeOnlyFunctions(draft, body);
  else noteCustomTools(draft, body);
  if (dialect.ids) fitIds(draft, body);
  if (dialect.tools || dialect.schemas) fitTools(draft, body);
  if (dialect.tool_choice) fitChoice(draft, body);
  if (dialect.format) {
    fitFormat(draft, body, dialect.format, { ...place, thinks: () => situationOf(draft, body).thinking });
  }
  if (dialect.schemas) fitFormatSchema(draft, body, dialect.schemas);
  if (dialect.schemas?.strict === 'complete') fitStrictFormat(draft, body, place);
  if (dialect.fields) fitFields(body, dialect.fields, situationOf(draft, body), draft);
  if (dialect.reasoning_rules) fitReasoning(draft, body);
  if (dialect.output) fitOutput(draft, body);
  if (dialect.body) addFields(body, dialect.body);
  if (dialect.omit_paths) dropPaths(body, dialect.omit_paths, draft);
}

function situationOf({ target }: ResponsesDraft, body: WireBody): Situation {
  const { effort } = (body.reasoning ?? {}) as { effort?: ReasoningEffort };
  const choice = body.tool_choice;
  return {
    tools: (body.tools?.length ?? 0) > 0,
    forced: choice === 'required' || (typeof choice === 'object' && choice !== null),
    thinking: effort !== undefined && effort !== 'none',
    search: body.tools?.some(({ type }) => type.startsWith('web_search')) ?? false,
    stream: target.stream,
    format: body.text?.format !== undefined && body.text.format.type !== 'text',
    effort,
  };
}

const outputTypes: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
]);
const outputKinds: ReadonlySet<string> = new Set(outputTypes.values());

/** Gives every call a result. A result without a call becomes a message of the user, unless a reference may be its call. */
function fitResults(draft: ResponsesDraft, body: WireBody): void {
  const idOf = (item: InputItem): string => String((item as { call_id?: unknown }).call_id);
  const called = new Set(body.input.flatMap((item) => (outputTypes.has(item.type) ? [idOf(item)] : [])));
  const answered = new Set(body.input.flatMap((item) => (outputKinds.has(item.type) ? [idOf(item)] : [])));
  if (called.size === answered.size && [...called].every((id) => answered.has(id))) return;
  const hasReferences = body.input.some(({ type }) => type === 'item_reference');
  body.input = body.input.flatMap((item): InputItem[] => {
    const type = outputTypes.get(item.type);
    if (type !== undefined && !answered.has(idOf(item))) {
      draft.adapted.add('calls without a result');
      return [item, { type, call_id: idOf(item), output: NO_RESULT } as InputItem]; // of the kind of its call
    }
    if (!outputKinds.has(item.type) || called.has(idOf(item)) || hasReferences) return [item];
    draft.adapted.add('results without a call');
    const { output } = item as { output?: string | ToolOutputPart[] };
    const content = typeof output === 'string' ? [{ type: 'input_text' as const, text: output }] : (output ?? []);
    return [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Result of a tool:' }, ...content] },
    ];
  });
}

/** Notes custom tools, whose calls some servers send as calls of functions: router-for-me/CLIProxyAPI#5753. */
function noteCustomTools(draft: ResponsesDraft, body: WireBody): void {
  for (const tool of body.tools ?? []) {
    if (tool.type !== 'custom') continue;
    draft.offered ??= new Map();
    draft.offered.set(tool.name, { name: tool.name, kind: 'custom' });
  }
}

const isSystem = (item: InputItem): boolean =>
  item.type === 'message' && (item.role === 'system' || item.role === 'developer');

/** @returns undefined if a message has other parts than texts */
function textOf({ content }: MessageItem): string | undefined {
  if (typeof content === 'string') return content;
  const texts = (content ?? []).map((part) =>
    'text' in part && typeof part.text === 'string' ? part.text : undefined,
  );
  return texts.includes(undefined) ? undefined : texts.join('\n');
}

/** Writes a system message as one of the user. */
function toUser({ id: _, ...message }: MessageItem & { id?: string }): MessageItem {
  const text = textOf(message);
  if (text !== undefined) return { ...message, role: 'user', content: INSTRUCTION + text };
  const parts = message.content as MessagePart[]; // a list, because it has other parts
  return { ...message, role: 'user', content: [{ type: 'input_text', text: INSTRUCTION }, ...parts] };
}

/**
 * Writes system messages as messages of the user: all of them, the last item alone, or (`first`) all but the texts at
 * the beginning, which join the instructions.
 */
function fitSystem(draft: ResponsesDraft, body: WireBody, rule: 'first' | 'not_last' | 'user'): void {
  const { input } = body;
  const isFitted = (item: InputItem, index: number): boolean =>
    isSystem(item) && (rule !== 'not_last' || index === input.length - 1);
  if (!input.some(isFitted)) return;
  draft.adapted.add('roles');
  const isHead = (item: InputItem): boolean => isSystem(item) && textOf(item as MessageItem) !== undefined;
  const found = rule === 'first' ? input.findIndex((item) => !isHead(item)) : 0;
  const start = found === -1 ? input.length - 1 : found; // an input is not empty
  if (start > 0) {
    const given = typeof body['instructions'] === 'string' ? [body['instructions']] : [];
    body['instructions'] = [...given, ...input.slice(0, start).map((item) => textOf(item as MessageItem))].join('\n\n');
  }
  body.input = input
    .slice(start)
    .map((item, index) => (isFitted(item, index + start) ? toUser(item as MessageItem) : item));
}

/** Drops messages of the assistant without a text, if something else is left. */
function dropEmpty(draft: ResponsesDraft, body: WireBody): void {
  const kept = body.input.filter((item) => !isEmptyMessage(item));
  if (kept.length === 0 || kept.length === body.input.length) return;
  draft.adapted.add('empty messages');
  body.input = kept;
}

function isEmptyMessage(item: InputItem): boolean {
  if (item.type !== 'message' || item.role !== 'assistant') return false;
  const { content } = item;
  if (typeof content === 'string') return content.trim() === '';
  return (content ?? []).every((part) => part.type === 'output_text' && part.text.trim() === '');
}

/** Servers parse the arguments of earlier calls. Those of an interrupted response are no JSON. */
function fitArguments(draft: ResponsesDraft, body: WireBody): void {
  body.input = body.input.map((item): InputItem => {
    if (item.type !== 'function_call') return item;
    const { arguments: text } = item as FunctionCallItem;
    if (parseObject(text, 'arguments') !== undefined) return item;
    draft.adapted.add('arguments that are no object');
    return { ...item, arguments: JSON.stringify(text === '' ? {} : { arguments: text }) } as InputItem; // the same kind
  });
}

/**
 * Gives messages of the assistant what those of a response have, for a server that validates them as such. A message with a
 * string is sent as one with parts: some versions of vLLM reject it (vllm-project/vllm#44361).
 */
function completeMessages(draft: ResponsesDraft, body: WireBody): void {
  body.input = body.input.map((item, index): InputItem => {
    if (item.type !== 'message' || item.role !== 'assistant') return item;
    const { content } = item;
    const parts = typeof content === 'string' ? [{ type: 'output_text' as const, text: content }] : (content ?? []);
    const whole = parts.map((part) => (part.type === 'output_text' ? { annotations: [], ...part } : part));
    draft.adapted.add('messages of the assistant');
    return { id: `msg_${index}`, status: 'completed', ...item, content: whole } as InputItem; // the same kind
  });
}

function fitIds(draft: ResponsesDraft, body: WireBody): void {
  const toFitted = createIdFitter(draft.dialect.ids!);
  const fitItem = (item: InputItem): InputItem => {
    const { call_id: id } = item as { call_id?: unknown };
    const fitted = typeof id === 'string' ? toFitted(id) : id;
    return fitted === id ? item : ({ ...item, call_id: fitted } as InputItem); // the same kind with another id
  };
  const input = body.input.map(fitItem);
  if (input.every((item, index) => item === body.input[index])) return;
  draft.adapted.add('call ids');
  body.input = input;
}

function fitTools(draft: ResponsesDraft, body: WireBody): void {
  const { tools: rules = {}, schemas } = draft.dialect;
  if (rules.web_access === false) fitSearches(draft, body);
  const { tools: offered = [] } = body;
  const hosted = offered.filter(({ type }) => type !== 'function' && type !== 'custom');
  const functions = offered.length - hosted.length;
  if (mustOmitFunctions(draft, rules, { all: offered.length, functions, isForbidden: body.tool_choice === 'none' })) {
    body.tools = hosted;
    if (hosted.length === 0) for (const field of ['tools', 'tool_choice', 'parallel_tool_calls']) delete body[field];
  }
  const toFitted = createNameFitter(rules);
  const fitName = (name: string): string => {
    const fitted = toFitted(name);
    if (fitted === name) return name;
    draft.adapted.add('names of tools');
    draft.names ??= new Map();
    draft.names.set(fitted, name);
    return fitted;
  };
  const fitNamed = <Named extends object>(value: Named): Named => {
    const { name } = value as { name?: unknown };
    if (typeof name !== 'string') return value;
    const fitted = fitName(name);
    return fitted === name ? value : { ...value, name: fitted };
  };
  body.tools = body.tools?.map((tool) => {
    if (tool.type !== 'function') return tool.type === 'custom' ? fitNamed(tool) : tool;
    const named = fitNamed(tool);
    const { name, parameters, strict } = named as {
      name: string;
      parameters?: Record<string, unknown>;
      strict?: unknown;
    };
    if (!schemas || !parameters) return named;
    const schema = fitSchema(parameters, schemas, { closes: schemas.closed === 'always' });
    const fitted = schema === parameters ? named : { ...named, parameters: schema };
    if (strict !== true || schemas.strict !== 'complete' || canBeStrict(schema)) return fitted;
    draft.dropped.push(`tools.${name}.strict (the schema has optional properties or open objects)`);
    return { ...fitted, strict: false };
  });
  if (body.tools === undefined) delete body.tools;
  const choice = body.tool_choice;
  if (typeof choice === 'object' && choice !== null) body.tool_choice = fitNamed(choice);
  const isCall = ({ type }: InputItem) => type === 'function_call' || type === 'custom_tool_call';
  body.input = body.input.map((item) => (isCall(item) ? fitNamed(item) : item));
}

/** Drops a setting of searches. A search that must not reach the web is left out, because the server's would reach it. */
function fitSearches(draft: ResponsesDraft, body: WireBody): void {
  const { tools = [] } = body;
  if (!tools.some((tool) => 'external_web_access' in tool)) return;
  body.tools = tools.flatMap((tool, index) => {
    if (!('external_web_access' in tool)) return [tool];
    const { external_web_access: isAllowed, ...rest } = tool;
    draft.dropped.push(`tools[${index}]${isAllowed === false ? '' : '.external_web_access'}`);
    return isAllowed === false ? [] : [rest as Tool];
  });
  if (body.tools.length === 0) for (const field of ['tools', 'tool_choice', 'parallel_tool_calls']) delete body[field];
}

/** Replaces a choice that the server rejects. */
function fitChoice(draft: ResponsesDraft, body: WireBody): void {
  const { values } = draft.dialect.tool_choice!;
  const choice = body.tool_choice as 'auto' | 'none' | 'required' | { name?: string } | undefined;
  if (!values || choice === undefined) return;
  const kind = typeof choice === 'object' ? 'named' : choice;
  if (values.includes(kind)) return;
  const isNone = kind === 'none';
  delete body.tool_choice;
  if (kind === 'auto' || isNone) {
    if (isNone) delete body.tools;
    for (const name of isNone ? ['tool_choice', 'tools'] : ['tool_choice']) draft.adapted.add(name);
    return;
  }
  const name = typeof choice === 'object' ? choice.name : undefined;
  const isNamed = (tool: Tool): boolean => (tool as { name?: string }).name === name;
  if (name !== undefined && body.tools?.some(isNamed) && !body.tools.every(isNamed)) {
    body.tools = body.tools.filter(isNamed);
    draft.adapted.add('tools');
  }
  if (values.includes('required')) {
    body.tool_choice = 'required';
    draft.adapted.add('tool_choice');
    return;
  }
  draft.dropped.push(`tool_choice (${kind})`);
  body.input = [...body.input, { type: 'message', role: 'user', content: requestCall(name) }];
  draft.adapted.add('a last message of the user');
}

/** The schema of the output obeys the same rules as those of tools. */
function fitFormatSchema(draft: ResponsesDraft, body: WireBody, rules: NonNullable<Dialect['schemas']>): void {
  const format = body.text?.format;
  if (!format?.schema) return;
  const closes = rules.closed !== undefined && rules.closed !== 'never';
  const schema = fitSchema(format.schema, rules, { closes, keepsRoot: true });
  if (schema === format.schema) return;
  draft.adapted.add('the schema of the format');
  body.text = { ...body.text, format: { ...format, schema } };
}

function fitReasoning(draft: ResponsesDraft, body: WireBody): void {
  const { not_with_tools: isSeparate } = draft.dialect.reasoning_rules!;
  const { effort } = (body.reasoning ?? {}) as { effort?: string };
  if (!isSeparate || !body.tools || effort === undefined || effort === 'none') return;
  body.reasoning = { ...(body.reasoning as object), effort: 'none' };
  draft.dropped.push('reasoning.effort (not supported with tools)');
}

function fitOutput(draft: ResponsesDraft, body: WireBody): void {
  const { min = 1, max = Number.POSITIVE_INFINITY } = draft.dialect.output!;
  const asked = body.max_output_tokens;
  if (typeof asked !== 'number') return;
  const bounded = Math.max(Math.min(asked, max), min);
  if (bounded === asked) return;
  body.max_output_tokens = bounded;
  draft.dropped.push(`max_output_tokens (${asked} → ${bounded})`);
}

/** Where a body has its format and its instructions. */
const place = {
  read(body: Record<string, unknown>) {
    const format = (body as WireBody).text?.format;
    if (format?.type !== 'json_schema') return format && { type: format.type };
    const { type, ...schema } = format;
    return { type, json_schema: schema };
  },
  write(body: Record<string, unknown>, format: { type: string; json_schema?: object } | undefined): void {
    const { format: _, ...rest } = (body as WireBody).text ?? {};
    if (format) body.text = { ...rest, format: { type: format.type, ...format.json_schema } };
    else if (Object.keys(rest).length > 0) body.text = rest;
    else delete body.text;
  },
  tell(body: Record<string, unknown>, text: string): void {
    // The server looks for the word in the input, and not in the instructions.
    const { input } = body as WireBody;
    body.input = [{ type: 'message', role: 'developer', content: text }, ...input];
  },
  mentions: (body: Record<string, unknown>, word: RegExp): boolean =>
    (body as { input: { content?: unknown }[] }).input.some(({ content }) =>
      typeof content === 'string'
        ? word.test(content)
        : Array.isArray(content) &&
          content.some((part: { text?: unknown }) => typeof part.text === 'string' && word.test(part.text)),
    ),
  hasTools: (body: Record<string, unknown>): boolean => ((body as WireBody).tools?.length ?? 0) > 0,
};
