import type { ReasoningEffort } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { refuseBecause } from '../kit/draft.ts';
import { effortShare } from '../kit/effort.ts';
import type { OfferedTool } from '../kit/offered-tools.ts';
import type { ToolBox } from '../kit/tool-box.ts';
import type { Rules } from '../rules/facets.ts';
import { createCallIds } from '../rules/fit/call-ids.ts';
import { addFields, fitFields, type Situation } from '../rules/fit/fields.ts';
import { fitFormat, fitStrictFormat } from '../rules/fit/format.ts';
import { createNameFitter } from '../rules/fit/names.ts';
import { fitProperties, renameInput } from '../rules/fit/properties.ts';
import { mustOmitFunctions, requestCall } from '../rules/fit/offer.ts';
import { type CacheMark, planMarks, replaceMark } from '../rules/fit/marks.ts';
import { dropPaths } from '../rules/fit/paths.ts';
import { fitSchema, canBeStrict, type SchemaUse } from '../rules/fit/schemas.ts';
import type { ChatDraft } from './draft.ts';
import { fitMessages, fitParts, fitThoughts, nameResults, placeThoughts } from './fit-messages.ts';
import type { ChatMessage, ChatTool } from './wire.ts';

/** A body of `/chat/completions` before and after it is fitted. */
export type WireBody = Record<string, unknown> & { messages: ChatMessage[]; tools?: ChatTool[] };

/**
 * Fits a body to the rules of its endpoint, in a fixed order: parts, messages, ids, tools, choice, format, reasoning,
 * single fields, limits. A rule that changes nothing costs one comparison.
 *
 * @throws {GatewayError} `invalid_request` that names the rule, if the request cannot be adapted
 * @see docs/reference/provider-rules.md
 */
export function fitBody(draft: ChatDraft, body: WireBody, box: ToolBox): void {
  const { dialect } = draft;
  if (dialect.parts) {
    const { endpoint } = draft.target;
    body.messages = fitParts(body.messages, dialect.parts, draft, {
      file: (filename) =>
        refuseBecause('input', `${endpoint} takes only texts and images, and ${filename ?? 'a file'} is neither.`),
      image: () => refuseBecause('input', `${endpoint} takes no images.`),
    });
  }
  if (dialect.turns) body.messages = fitMessages(body.messages, dialect.turns, draft, dialect.ids?.unique);
  if (dialect.ids) fitIds(draft, body);
  if (dialect.tools || dialect.schemas) fitTools(draft, body, box);
  if (dialect.turns?.result_names) body.messages = nameResults(body.messages, draft);
  if (dialect.tool_choice) fitChoice(draft, body);
  if (dialect.format) {
    fitFormat(draft, body, dialect.format, { ...chatFormat, thinks: () => situationOf(draft, body).thinking });
  }
  if (dialect.schemas) fitFormatSchema(draft, body, dialect.schemas);
  if (dialect.schemas?.strict === 'complete') fitStrictFormat(draft, body, chatFormat);
  if (dialect.reasoning_rules) fitThinking(draft, body);
  if (dialect.stops) fitStops(draft, body);
  if (dialect.fields) fitFields(body, dialect.fields, situationOf(draft, body), draft, nameOf);
  if (dialect.output) fitOutput(draft, body);
  if (dialect.body) addFields(body, dialect.body);
  if (dialect.omit_paths) dropPaths(body, dialect.omit_paths, draft);
  if (dialect.cache) fitMarks(draft, body);
}

interface Marked {
  cache_control?: CacheMark;
}

/** Bounds the marks of the cache in tools and parts. @see planMarks */
function fitMarks(draft: ChatDraft, body: WireBody): void {
  const change = (replace: (marked: Marked) => Marked): void => {
    if (body.tools) body.tools = body.tools.map((tool) => replace(tool as Marked) as ChatTool);
    body.messages = body.messages.map((message) => {
      if (!Array.isArray(message.content)) return message;
      return { ...message, content: message.content.map((part) => replace(part as Marked) as typeof part) };
    });
  };
  const marks: CacheMark[] = [];
  change((marked) => {
    if (marked.cache_control) marks.push(marked.cache_control);
    return marked;
  });
  const plan = planMarks(marks, draft.dialect.cache!, body['cache_control'] === undefined ? 0 : 1);
  if (!plan) return;
  draft.dropped.push(...plan.lost);
  let next = 0;
  change((marked) => (marked.cache_control ? replaceMark(marked, plan.fitted[next++]) : marked));
}

/** Names in the request of the client, for fields that have another name in this format. */
const names: Readonly<Record<string, string>> = {
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
  response_format: 'text.format',
  verbosity: 'text.verbosity',
};
const nameOf = (field: string): string => names[field] ?? field;

function situationOf({ target, dialect }: ChatDraft, body: WireBody): Situation {
  const effort = body.reasoning_effort as ReasoningEffort | undefined;
  const { off, on, by_default: isDefault = false } = dialect.reasoning_rules ?? {};
  const isOn = hasFields(body, on) || (isDefault && !hasFields(body, off));
  return {
    tools: (body.tools?.length ?? 0) > 0,
    forced: body.tool_choice === 'required' || typeof body.tool_choice === 'object',
    thinking: effort === undefined ? isOn : effort !== 'none',
    stream: target.stream,
    format: body.response_format !== undefined,
    greedy: body.temperature === 0,
    effort,
  };
}

function fitIds(draft: ChatDraft, body: WireBody): void {
  const { ofCall, ofResult } = createCallIds(draft.dialect.ids!);
  body.messages = body.messages.map((message) => {
    const { tool_calls: calls, tool_call_id: id } = message;
    const result = id === undefined ? id : ofResult(id);
    const fitted = calls?.map((call) => ({ ...call, id: ofCall(call.id) }));
    if (result === id && !fitted?.some((call, index) => call.id !== calls![index]!.id)) return message;
    draft.adapted.add('call ids');
    return { ...message, ...(fitted && { tool_calls: fitted }), ...(result !== undefined && { tool_call_id: result }) };
  });
}

function fitTools(draft: ChatDraft, body: WireBody, box: ToolBox): void {
  const { tools: rules = {}, schemas } = draft.dialect;
  const all = body.tools?.length ?? 0;
  if (mustOmitFunctions(draft, rules, { all, functions: all, isForbidden: body.tool_choice === 'none' })) {
    for (const field of ['tools', 'tool_choice', 'parallel_tool_calls']) delete body[field];
  }
  if (rules.keep_for_calls && rules.supported !== false && !body.tools?.length) addCalledTools(draft, body);
  const toFitted = createNameFitter(rules);
  const fitName = (name: string): string => {
    const fitted = toFitted(name);
    if (fitted === name) return name;
    draft.adapted.add('names of tools');
    const offered: OfferedTool = box.offered?.get(name) ?? { name, kind: 'function' };
    box.offered ??= new Map();
    box.offered.set(fitted, offered);
    return fitted;
  };
  const isStrict = rules.strict === 'same' && body.tools?.every((tool) => tool.function.strict === true) === true;
  const renamed = new Map<string, ReadonlyMap<string, string>>(); // tool of the client → property of the client → sent
  if (body.tools) {
    const use: SchemaUse = {
      closes: schemas?.closed === 'always',
      onDropped: (keyword: string) => void draft.adapted.add(`schemas without ${keyword}`),
    };
    body.tools = body.tools.map((tool) => {
      const { function: given } = tool;
      let fitted = given;
      const change = (changes: Partial<ChatTool['function']>): void => {
        fitted = { ...fitted, ...changes };
      };
      const name = fitName(given.name);
      if (name !== given.name) change({ name });
      const { description, parameters, strict } = given;
      if (rules.description_length !== undefined && description && description.length > rules.description_length) {
        change({ description: description.slice(0, rules.description_length) });
        draft.dropped.push(
          `tools.${given.name}.description (its first ${rules.description_length} characters are sent)`,
        );
      }
      if (parameters === undefined && rules.parameters) change({ parameters: { type: 'object', properties: {} } });
      if (parameters && schemas) {
        let schema = fitSchema(parameters, schemas, use);
        if (schemas.property_names === 'word') {
          const { schema: sent, names: properties } = fitProperties(schema);
          schema = sent;
          if (properties) {
            draft.adapted.add('names of properties');
            renamed.set(given.name, properties);
            draft.properties ??= new Map();
            draft.properties.set(
              box.offered?.get(name)?.name ?? name,
              new Map([...properties].map(([client, server]) => [server, client])),
            );
          }
        }
        if (schema !== parameters) change({ parameters: schema });
      }
      let kept = fitStrict(strict, rules.strict, isStrict);
      if (kept && schemas?.strict === 'complete' && !canBeStrict(fitted.parameters)) {
        kept = false;
        draft.dropped.push(`tools.${given.name}.strict (the schema has optional properties or open objects)`);
      }
      if (kept === undefined && strict !== undefined) {
        const { strict: _, ...rest } = fitted;
        fitted = rest;
      } else if (kept !== undefined && kept !== strict) change({ strict: kept });
      if (rules.own_fields === false) return leaveOwnFields(draft, { ...tool, function: fitted });
      return fitted === given ? tool : { ...tool, function: fitted };
    });
  }
  const choice = body.tool_choice as { function?: { name: string } } | string | undefined;
  if (typeof choice === 'object' && choice.function) {
    body.tool_choice = { ...choice, function: { ...choice.function, name: fitName(choice.function.name) } };
  }
  body.messages = body.messages.map((message) => {
    const { tool_calls: calls } = message;
    if (!calls?.some(({ function: { name } }) => toFitted(name) !== name || renamed.has(name))) return message;
    const fitted = calls.map((call) => {
      const { name, arguments: given } = call.function;
      const properties = renamed.get(name);
      const input = properties && parseObject(given, 'arguments');
      const args = input ? JSON.stringify(renameInput(input, properties!)) : given;
      return { ...call, function: { ...call.function, name: fitName(name), arguments: args } };
    });
    return { ...message, tool_calls: fitted };
  });
}

/** Drops the fields of a tool that only its client knows, such as `copilot_mcp_server_name`. */
function leaveOwnFields(draft: ChatDraft, tool: ChatTool): ChatTool {
  const { type, function: given, ...own } = tool as ChatTool & { type: string };
  const { name, description, parameters, strict, ...inner } = given;
  for (const field of [...Object.keys(own), ...Object.keys(inner)]) draft.dropped.push(`tools.${name}.${field}`);
  return {
    type,
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  } as ChatTool; // the fields of the format
}

/** @param allStrict whether every tool of the request is strict */
function fitStrict(
  strict: boolean | undefined,
  rule: 'send' | 'omit' | 'explicit' | 'same' | undefined,
  allStrict: boolean,
): boolean | undefined {
  if (rule === 'omit') return undefined;
  if (rule === 'explicit') return strict ?? false;
  if (rule === 'same') return allStrict ? true : undefined;
  return strict;
}

function fitChoice(draft: ChatDraft, body: WireBody): void {
  const { values, while_thinking: thinkingValues } = draft.dialect.tool_choice!;
  const choice = body.tool_choice as string | { function: { name: string } } | undefined;
  if (choice === undefined) return;
  const kind = typeof choice === 'object' ? 'named' : (choice as 'auto' | 'none' | 'required');
  if (thinkingValues && !thinkingValues.includes(kind) && turnOffThinking(draft, body)) return;
  if (!values || values.includes(kind)) return;
  if (kind === 'auto') {
    delete body.tool_choice; // it is the default
    draft.adapted.add('tool_choice');
    return;
  }
  if (kind === 'none') {
    delete body.tool_choice;
    delete body.tools;
    draft.adapted.add('tool_choice').add('tools');
    return;
  }
  const { name } = typeof choice === 'object' ? choice.function : { name: undefined };
  if (name !== undefined && body.tools?.some((tool) => tool.function.name !== name)) {
    body.tools = body.tools.filter((tool) => tool.function.name === name);
    draft.adapted.add('tools');
  }
  if (values.includes('required')) {
    body.tool_choice = 'required';
    draft.adapted.add('tool_choice');
    return;
  }
  delete body.tool_choice;
  draft.dropped.push(`tool_choice (${kind})`);
  body.messages = [...body.messages, { role: 'user', content: requestCall(name) }];
  draft.adapted.add('a last message of the user');
}

/** Describes the tools of earlier calls, for a server that needs them. The model cannot call them. */
function addCalledTools(draft: ChatDraft, body: WireBody): void {
  const called = new Set<string>();
  for (const { tool_calls: calls } of body.messages) for (const call of calls ?? []) called.add(call.function.name);
  if (called.size === 0) return;
  draft.adapted.add('tools of earlier calls');
  const parameters = { type: 'object', properties: {} };
  body.tools = [...called].map((name) => ({ type: 'function', function: { name, parameters } }));
  body.tool_choice ??= 'none';
}

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;

/** Whether a body has the fields that turn reasoning on or off, and there are such fields. */
const hasFields = (body: WireBody, fields: Readonly<Record<string, unknown>> | undefined): boolean =>
  fields !== undefined &&
  !isEmpty(fields) &&
  Object.keys(fields).every((name) => JSON.stringify(body[name]) === JSON.stringify(fields[name]));

/** Turns the reasoning of the model off. @returns whether that makes the choice possible */
function turnOffThinking(draft: ChatDraft, body: WireBody): boolean {
  const { off, by_default: isDefault } = draft.dialect.reasoning_rules ?? {};
  if (!off || isEmpty(off)) return false;
  const { effort, thinking } = situationOf(draft, body);
  if (effort === 'none' || (!thinking && !isDefault)) return true;
  delete body.reasoning_effort;
  Object.assign(body, structuredClone(off));
  draft.dropped.push('reasoning (not supported with a forced tool call)');
  return true;
}

function fitThinking(draft: ChatDraft, body: WireBody): void {
  const { back, off, field = 'reasoning_content' } = draft.dialect.reasoning_rules!;
  fitEffort(draft, body);
  if (back) body.messages = fitThoughts(body.messages, back, hasFields(body, off));
  if (field !== 'reasoning_content') body.messages = body.messages.map((message) => placeThoughts(message, field));
}

function fitEffort(draft: ChatDraft, body: WireBody): void {
  const {
    not_with_tools: isSeparate,
    on,
    off,
    by_default: isDefault,
    keep_effort: keeps,
  } = draft.dialect.reasoning_rules!;
  const effort = body.reasoning_effort as ReasoningEffort | undefined;
  const reasons = effort === undefined ? isDefault : effort !== 'none';
  if (isSeparate && body.tools && body.tools.length > 0 && reasons) {
    body.reasoning_effort = 'none';
    draft.dropped.push(
      effort === undefined ? 'reasoning (not supported with tools)' : 'reasoning.effort (not supported with tools)',
    );
    return;
  }
  if (effort === undefined) return;
  const tokens = effort === 'none' ? undefined : planBudget(draft, body, effort);
  const fields = effort === 'none' || tokens === 0 ? off : on;
  if (fields) {
    if (effort === 'none' && isDefault && isEmpty(fields)) draft.dropped.push('reasoning (it cannot be turned off)');
    if (!keeps || fields === off) delete body.reasoning_effort;
    addFields(body, structuredClone(fields));
  }
  if (tokens) writeBudget(body, draft.dialect.reasoning_rules!.budget!.field!, tokens);
}

/** The limit of the output from which a budget is computed, if the request has none or a larger one. */
const MAX_BUDGETED = 32_000;
/** Tokens for the text besides a budget that must be below the limit of the output. */
const TEXT_TOKENS = 8192;

/** @returns undefined if the server decides; 0 if the limit of the output leaves no room for reasoning */
function planBudget(draft: ChatDraft, body: WireBody, effort: ReasoningEffort): number | undefined {
  const { budget: rules, on, keep_effort: keeps } = draft.dialect.reasoning_rules!;
  if (rules?.field === undefined) return undefined;
  const { needed, min = 1, max = Number.POSITIVE_INFINITY } = rules;
  const field = draft.dialect.max_tokens_field;
  const limit = body[field] as number | undefined;
  // A server with efforts gets a budget only from the client.
  const isPlanned = needed || (on !== undefined && !keeps && effortShare(effort) < effortShare('high'));
  const share = effortShare(effort) * Math.min(limit ?? MAX_BUDGETED, MAX_BUDGETED);
  const wanted = draft.budget ?? (isPlanned ? Math.round(share) : undefined);
  if (wanted === undefined) return undefined;
  const below = needed && limit !== undefined ? limit - 1 : Number.POSITIVE_INFINITY;
  const tokens = Math.min(Math.max(wanted, min), max, below);
  if (tokens < min) {
    draft.dropped.push('reasoning (the limit of the output is too small)');
    return 0;
  }
  if (draft.budget !== undefined && tokens !== wanted)
    draft.dropped.push(`reasoning.max_tokens (${wanted} → ${tokens})`);
  if (needed && limit === undefined) {
    body[field] = tokens + TEXT_TOKENS;
    draft.adapted.add('a limit of the output');
  }
  return tokens;
}

/** Writes a budget in the place of an effort. */
function writeBudget(body: WireBody, path: string, tokens: number): void {
  delete body.reasoning_effort;
  const [field = path, inner] = path.split('.');
  body[field] = inner === undefined ? tokens : { ...(body[field] as object | undefined), [inner]: tokens };
}

/** The schema of the output obeys the same rules as those of tools. */
function fitFormatSchema(draft: ChatDraft, body: WireBody, rules: NonNullable<Rules['schemas']>): void {
  const format = body.response_format as ChatFormat | undefined;
  const schema = format?.json_schema?.schema;
  if (!schema) return;
  const closes = rules.closed !== undefined && rules.closed !== 'never';
  const fitted = fitSchema(schema, rules, { closes, keepsRoot: true });
  if (fitted === schema) return;
  draft.adapted.add('the schema of the format');
  body.response_format = { ...format, json_schema: { ...format!.json_schema, schema: fitted } };
}

function fitStops(draft: ChatDraft, body: WireBody): void {
  const { max, blank } = draft.dialect.stops!;
  const { stop } = body as { stop?: string[] };
  if (!stop) return;
  const sendable = blank === false ? stop.filter((text) => text.trim() !== '') : stop;
  const sent = max === undefined ? sendable : sendable.slice(0, max);
  if (sent.length === stop.length) return;
  if (sent.length === 0) delete body.stop;
  else body.stop = sent;
  draft.appliedStops = stop.filter((text) => !sent.includes(text));
  draft.adapted.add('stop');
}

function fitOutput(draft: ChatDraft, body: WireBody): void {
  const { min, max } = draft.dialect.output!;
  const field = draft.dialect.max_tokens_field;
  const asked = body[field];
  if (typeof asked !== 'number') return;
  const bounded = Math.max(Math.min(asked, max ?? asked), min ?? 1);
  if (bounded === asked) return;
  body[field] = bounded;
  draft.dropped.push(`max_output_tokens (${asked} → ${bounded})`);
}

/** Where a chat body has its format and its instructions. */
const chatFormat = {
  read: (body: Record<string, unknown>) => body.response_format as ChatFormat | undefined,
  write: (body: Record<string, unknown>, format: ChatFormat | undefined): void => {
    if (format) body.response_format = format;
    else delete body.response_format;
  },
  tell: (body: Record<string, unknown>, text: string): void => {
    const { messages } = body as WireBody;
    const [first] = messages;
    if (first?.role === 'system' && typeof first.content === 'string') {
      body.messages = [{ ...first, content: `${first.content}\n\n${text}` }, ...messages.slice(1)];
    } else body.messages = [{ role: 'system', content: text }, ...messages];
  },
  mentions: (body: Record<string, unknown>, word: RegExp): boolean =>
    (body as WireBody).messages.some(({ content }) =>
      typeof content === 'string'
        ? word.test(content)
        : content?.some((part) => part.type === 'text' && word.test(part.text)) === true,
    ),
  hasTools: (body: Record<string, unknown>): boolean => ((body as WireBody).tools?.length ?? 0) > 0,
};

interface ChatFormat {
  type: string;
  json_schema?: { name?: string; schema?: Record<string, unknown>; strict?: boolean; description?: string };
}
