import { findMediaType } from '../../domain/parse-image.ts';
import type { ToolBox } from '../kit/tool-box.ts';
import { createCallIds } from '../rules/fit/call-ids.ts';
import { addFields, fitFields, type Situation } from '../rules/fit/fields.ts';
import { createNameFitter } from '../rules/fit/names.ts';
import { mustOmitFunctions, requestCall } from '../rules/fit/offer.ts';
import { planMarks, replaceMark } from '../rules/fit/marks.ts';
import { dropPaths } from '../rules/fit/paths.ts';
import { fitProperties, renameInput } from '../rules/fit/properties.ts';
import { fitSchema } from '../rules/fit/schemas.ts';
import type { ReasoningEffort } from '../../domain/items.ts';
import { interleaved, type MessagesDraft } from './parts.ts';
import { asBlocks, fitTurns } from './fit-turns.ts';
import type { Block, CacheMark, Turn } from './wire.ts';

/** A body of `/messages` before and after it is fitted. */
export type WireBody = Record<string, unknown> & {
  system?: Block[] | string;
  messages: Turn[];
  tools?: MessagesTool[];
  tool_choice?: ToolChoice;
};

interface ToolChoice {
  type: string;
  name?: string;
}

interface MessagesTool {
  type?: string;
  name: string;
  description?: string;
  input_schema?: Record<string, unknown>;
  cache_control?: CacheMark;
  [field: string]: unknown;
}

/**
 * Fits a body to the rules of its endpoint, in a fixed order: turns, ids, tools, choice, format, single fields, stops, limits,
 * images, marks.
 *
 * @throws {GatewayError} `invalid_request` that names the rule, if the request cannot be adapted
 * @see docs/reference/provider-rules.md
 */
export function fitBody(draft: MessagesDraft, body: WireBody, box: ToolBox): void {
  const { dialect } = draft;
  if (dialect.turns) fitTurns(draft, body, dialect.turns);
  if (dialect.ids?.hosted) leaveOutForeign(draft, body, dialect.ids.hosted);
  if (dialect.ids) fitIds(draft, body);
  if (dialect.tools || dialect.schemas) fitTools(draft, body, box);
  if (dialect.tool_choice) fitChoice(draft, body);
  if (dialect.reasoning_rules) fitThoughts(draft, body);
  if (dialect.format || dialect.schemas) fitFormat(draft, body);
  if (dialect.fields)
    fitFields(body, dialect.fields, situationOf(draft, body), draft, (field) => names[field] ?? field);
  if (dialect.stops) fitStops(draft, body);
  if (dialect.output) fitOutput(draft, body);
  if (body.thinking) fitBudget(draft, body);
  if (dialect.parts?.image_types) mapBlocks(body, (block) => fitImage(draft, block));
  if (dialect.cache) fitMarks(draft, body);
  if (dialect.body) addFields(body, dialect.body);
  if (dialect.omit_paths) dropPaths(body, dialect.omit_paths, draft);
}

/** Names in the request of the client, for fields that have another name in this format. */
const names: Readonly<Record<string, string>> = { max_tokens: 'max_output_tokens', stop_sequences: 'stop' };

function situationOf({ target }: MessagesDraft, body: WireBody): Situation {
  const { type } = (body.thinking ?? {}) as { type?: string };
  const output = (body.output_config ?? {}) as { effort?: ReasoningEffort; format?: unknown };
  return {
    tools: (body.tools?.length ?? 0) > 0,
    forced: body.tool_choice?.type === 'any' || body.tool_choice?.type === 'tool',
    thinking: type === 'enabled' || type === 'adaptive',
    reasoning_off: type === 'disabled' || type === 'between_tools',
    stream: target.stream,
    format: output.format !== undefined,
    effort: output.effort,
  };
}

/** Visits the blocks of the system prompt, the turns and the results in them, in the order of the prompt. */
function visitBlocks(body: WireBody, visit: (block: Block) => void): void {
  if (Array.isArray(body.system)) body.system.forEach(visit);
  for (const { content } of body.messages) {
    if (!Array.isArray(content)) continue;
    for (const block of content) {
      visit(block);
      if (block.type === 'tool_result' && Array.isArray(block.content)) block.content.forEach(visit);
    }
  }
}

/** Replaces blocks. Those of the client are shared by all attempts, so they are never changed in place. */
function mapBlocks(body: WireBody, change: (block: Block) => Block): void {
  const mapAll = (blocks: Block[]): Block[] => {
    const mapped = blocks.map((block) => {
      const changed = change(block);
      if (changed.type !== 'tool_result' || !Array.isArray(changed.content)) return changed;
      const content = mapAll(changed.content);
      return content === changed.content ? changed : { ...changed, content };
    });
    return mapped.some((block, index) => block !== blocks[index]) ? mapped : blocks;
  };
  if (Array.isArray(body.system)) body.system = mapAll(body.system);
  body.messages = body.messages.map((turn) => {
    if (!Array.isArray(turn.content)) return turn;
    const content = mapAll(turn.content);
    return content === turn.content ? turn : { ...turn, content };
  });
}

function fitIds(draft: MessagesDraft, body: WireBody): void {
  const { ofCall, ofResult } = createCallIds(draft.dialect.ids!);
  const change = (turn: Turn, index: number, block: Block): void => {
    draft.adapted.add('call ids');
    turn.content[index] = block;
  };
  for (const turn of body.messages) {
    if (!Array.isArray(turn.content)) continue;
    turn.content.forEach((block, index) => {
      if (block.type === 'tool_use') {
        const id = ofCall(block.id);
        if (id !== block.id) change(turn, index, { ...block, id });
      } else if (block.type === 'tool_result') {
        const id = ofResult(block.tool_use_id);
        if (id !== block.tool_use_id) change(turn, index, { ...block, tool_use_id: id });
      }
    });
  }
}

/**
 * Leaves out calls that another provider has run, and their results. The text after them contains what was found.
 *
 * @param prefix how the ids of this provider begin
 */
function leaveOutForeign(draft: MessagesDraft, body: WireBody, prefix: string): void {
  const isForeign = (block: Block): boolean => {
    const { type, id, tool_use_id: called }: HostedBlock = block; // only clients of the format send them
    if (type !== 'server_tool_use' && !isHostedResult(type)) return false;
    return !String(isHostedResult(type) ? called : id).startsWith(prefix);
  };
  const hasForeign = ({ content }: Turn): boolean => Array.isArray(content) && content.some(isForeign);
  if (!body.messages.some(hasForeign)) return;
  body.messages = body.messages.flatMap((turn): Turn[] => {
    if (!hasForeign(turn)) return [turn];
    const content = (turn.content as Block[]).filter((block) => {
      if (!isForeign(block)) return true;
      draft.dropped.push(`messages (${block.type} of another provider)`);
      return false;
    });
    return content.length === 0 ? [] : [{ ...turn, content }];
  });
}

interface HostedBlock {
  type: string;
  id?: string;
  tool_use_id?: string;
}

/** Whether a block has the result of a tool that runs at the provider, except those of MCP servers. */
const isHostedResult = (type: string): boolean => type.endsWith('_tool_result') && !type.startsWith('mcp_');

/** Whether a tool runs at the provider. */
const isHosted = ({ type }: MessagesTool): boolean => type !== undefined && type !== 'custom';

function fitTools(draft: MessagesDraft, body: WireBody, box: ToolBox): void {
  const { tools: rules = {}, schemas } = draft.dialect;
  const { tools: offered = [] } = body;
  const hosted = offered.filter(isHosted);
  const functions = offered.length - hosted.length;
  const isForbidden = body.tool_choice?.type === 'none';
  if (mustOmitFunctions(draft, rules, { all: offered.length, functions, isForbidden })) {
    if (hosted.length > 0) body.tools = hosted;
    else for (const field of ['tools', 'tool_choice']) delete body[field];
  }
  const toFitted = createNameFitter(rules);
  const fitName = (name: string): string => {
    const fitted = toFitted(name);
    if (fitted === name) return name;
    draft.adapted.add('names of tools');
    const offered = box.offered?.get(name) ?? { name, kind: 'function' as const };
    box.offered ??= new Map();
    box.offered.set(fitted, offered);
    return fitted;
  };
  const renamed = new Map<string, ReadonlyMap<string, string>>(); // tool of the client → property of the client → sent
  body.tools = body.tools?.map((tool) => {
    if (isHosted(tool)) return rules.filtered_search === false ? withoutFilter(draft, tool) : tool;
    const fitted = { ...tool, name: fitName(tool.name) };
    if (!tool.input_schema || !schemas) return fitted;
    const schema = fitSchema(tool.input_schema, schemas, { closes: schemas.closed === 'always' });
    const { schema: sent, names: properties } =
      schemas.property_names === 'word' ? fitProperties(schema) : { schema, names: undefined };
    if (properties) {
      draft.adapted.add('names of properties');
      renamed.set(tool.name, properties);
      const back = new Map([...properties].map(([client, server]) => [server, client]));
      draft.properties ??= new Map();
      draft.properties.set(box.offered?.get(fitted.name)?.name ?? tool.name, back);
    }
    if (sent !== tool.input_schema) draft.adapted.add('schemas of tools');
    return { ...fitted, input_schema: sent };
  });
  if (body.tools === undefined) delete body.tools;
  if (body.tool_choice?.name !== undefined)
    body.tool_choice = { ...body.tool_choice, name: fitName(body.tool_choice.name) };
  for (const turn of body.messages) {
    if (!Array.isArray(turn.content)) continue;
    turn.content.forEach((block, index) => {
      if (block.type !== 'tool_use') return;
      const name = fitName(block.name);
      const properties = renamed.get(block.name);
      if (name === block.name && !properties) return;
      const input = properties ? renameInput(block.input, properties) : block.input;
      turn.content[index] = { ...block, name, input };
    });
  }
  if (rules.keep_for_calls && rules.supported !== false && body.tools === undefined) addCalledTools(draft, body);
}

/** The versions of the tools of Anthropic without dynamic filtering. */
const basicVersions: ReadonlyMap<string, string> = new Map([
  ['web_search', 'web_search_20250305'],
  ['web_fetch', 'web_fetch_20250910'],
]);

/** Replaces a newer version of the search or the fetch of Anthropic. */
function withoutFilter(draft: MessagesDraft, tool: MessagesTool): MessagesTool {
  const [, kind, version] = /^(web_search|web_fetch)_(\d{8})$/.exec(tool.type ?? '') ?? [];
  const basic = basicVersions.get(kind ?? '');
  if (basic === undefined || version! <= basic.slice(-8)) return tool;
  draft.dropped.push(`tools (${tool.type} → ${basic})`);
  const { allowed_callers: _, response_inclusion: __, ...rest } = tool;
  return { ...rest, type: basic };
}

/** Replaces a forced call that the server rejects, or turns the reasoning off that is not combined with it. */
function fitChoice(draft: MessagesDraft, body: WireBody): void {
  const { values, while_thinking: thinkingValues } = draft.dialect.tool_choice!;
  const choice = body.tool_choice;
  if (choice === undefined || !situationOf(draft, body).forced) return;
  const kind = choice.type === 'any' ? 'required' : 'named';
  if (values && !values.includes(kind)) requestForced(draft, body, choice);
  else if (thinkingValues && !thinkingValues.includes(kind))
    turnOffThinking(draft, body, 'reasoning (not supported with a forced tool call)');
}

/** Requests a call in words. All tools stay, because the signatures of earlier thinking depend on them. */
function requestForced(draft: MessagesDraft, body: WireBody, { name, ...choice }: ToolChoice): void {
  body.tool_choice = { ...choice, type: 'auto' };
  draft.dropped.push(`tool_choice (${name === undefined ? 'required' : 'named'})`);
  const block: Block = { type: 'text', text: requestCall(name) };
  const last = body.messages.at(-1);
  if (last?.role === 'user')
    body.messages = [...body.messages.slice(0, -1), { ...last, content: [...asBlocks(last.content), block] }];
  else body.messages = [...body.messages, { role: 'user', content: [block] }];
  draft.adapted.add('a last message of the user');
}

/** Turns the reasoning off, if it is on. @param note for the response */
function turnOffThinking(draft: MessagesDraft, body: WireBody, note: string): void {
  const { off, by_default: isDefault } = draft.dialect.reasoning_rules ?? {};
  const { thinking } = situationOf(draft, body);
  if (!thinking && !(isDefault && body.thinking === undefined)) return;
  delete body.thinking;
  if (off) Object.assign(body, structuredClone(off));
  draft.dropped.push(note);
}

/**
 * Turns the reasoning off if calls lack the reasoning that the server needs: of the whole conversation, or of the present
 * turn. In the latter case, the unsigned reasoning of earlier turns is not sent.
 */
function fitThoughts(draft: MessagesDraft, body: WireBody): void {
  const { back, off } = draft.dialect.reasoning_rules!;
  if (back !== 'turn' && !(back === 'always' && off)) return;
  const isAsked = ({ role, content }: Turn): boolean =>
    role === 'user' && (!Array.isArray(content) || content.some(({ type }) => type !== 'tool_result'));
  const start = back === 'always' ? 0 : body.messages.findLastIndex(isAsked) + 1;
  const turn = body.messages.slice(start);
  body.messages = body.messages.map((message, index) => (index < start ? withoutThoughts(message) : message));
  const has = ({ content }: Turn, kind: Block['type']): boolean =>
    Array.isArray(content) && content.some(({ type }) => type === kind);
  if (turn.some((message) => has(message, 'tool_use') && !has(message, 'thinking')))
    turnOffThinking(draft, body, 'reasoning (the calls of the input have no thinking to continue)');
}

/** Removes unsigned reasoning, unless nothing else would be left. */
function withoutThoughts(turn: Turn): Turn {
  if (!Array.isArray(turn.content)) return turn;
  const content = turn.content.filter((block) => block.type !== 'thinking' || block.signature);
  return content.length === 0 || content.length === turn.content.length ? turn : { ...turn, content };
}

/** Servers that need tools for the calls of the conversation get one for each name, without a description. */
function addCalledTools(draft: MessagesDraft, body: WireBody): void {
  const called = new Set<string>();
  visitBlocks(body, (block) => {
    if (block.type === 'tool_use') called.add(block.name);
  });
  if (called.size === 0) return;
  draft.adapted.add('tools of earlier calls');
  body.tools = [...called].map((name) => ({ name, input_schema: { type: 'object', properties: {} } }));
  body.tool_choice ??= { type: 'none' };
}

/** Closes the schema of a format and drops keywords that it must not have, or moves the format into the prompt. */
function fitFormat(draft: MessagesDraft, body: WireBody): void {
  const output = body.output_config as { format?: { type: string; schema?: Record<string, unknown> } } | undefined;
  const format = output?.format;
  if (!output || !format) return;
  const { format: rules, schemas = {} } = draft.dialect;
  if (rules?.json_schema === 'describe' || rules?.json_schema === 'object') {
    const { format: _, ...rest } = output;
    if (Object.keys(rest).length > 0) body.output_config = rest;
    else delete body.output_config;
    draft.betas.delete('structured-outputs-2025-11-13');
    const text = `Respond with one JSON object and nothing else. It must match this JSON schema: ${JSON.stringify(format.schema)}`;
    body.system = [...asBlocks(body.system), { type: 'text', text }];
    draft.dropped.push('text.format (requested in the prompt)');
    return;
  }
  if (!format.schema) return;
  const schema = fitSchema(
    format.schema,
    { ...schemas, ...(rules?.drop && { drop: rules.drop }) },
    {
      closes: schemas.closed !== undefined && schemas.closed !== 'never',
      keepsRoot: true,
      onDropped: (keyword) => void draft.dropped.push(`text.format.schema (${keyword}, in the description)`),
    },
  );
  if (schema === format.schema) return;
  draft.adapted.add('the schema of the format');
  body.output_config = { ...output, format: { ...format, schema } };
}

function fitStops(draft: MessagesDraft, body: WireBody): void {
  const { max, blank } = draft.dialect.stops!;
  const stops = body.stop_sequences as string[] | undefined;
  if (!stops) return;
  const sendable = blank === false ? stops.filter((text) => text.trim() !== '') : stops;
  const sent = max === undefined ? sendable : sendable.slice(0, max);
  if (sent.length === stops.length) return;
  if (sent.length === 0) delete body.stop_sequences;
  else body.stop_sequences = sent;
  draft.appliedStops = stops.filter((text) => !sent.includes(text));
  draft.adapted.add('stop');
}

function fitOutput(draft: MessagesDraft, body: WireBody): void {
  const { min = 1, max = Number.POSITIVE_INFINITY } = draft.dialect.output!;
  const asked = body.max_tokens;
  if (typeof asked !== 'number') return;
  const bounded = Math.max(Math.min(asked, max), min);
  if (bounded === asked) return;
  body.max_tokens = bounded;
  draft.dropped.push(`max_output_tokens (${asked} → ${bounded})`);
  const thinking = body.thinking as { budget_tokens?: number } | undefined;
  if (thinking?.budget_tokens !== undefined && thinking.budget_tokens >= bounded) {
    body.thinking = { ...thinking, budget_tokens: bounded - 1 };
  }
}

/** Leaves the thinking out if the smallest budget of the server is not below the limit of the output. */
function fitBudget(draft: MessagesDraft, body: WireBody): void {
  const { budget_tokens: budget } = (body.thinking ?? {}) as { budget_tokens?: number };
  const { max_tokens: limit } = body;
  if (budget === undefined || typeof limit !== 'number' || budget < limit || draft.betas.has(interleaved)) return;
  delete body.thinking;
  draft.dropped = draft.dropped.filter((name) => !name.startsWith('thinking.budget_tokens'));
  draft.dropped.push(`reasoning (max_output_tokens leaves less than ${budget} tokens for it)`);
}

/** Corrects the type of an image whose bytes are of another one. */
function fitImage(draft: MessagesDraft, block: Block): Block {
  if (block.type !== 'image' || block.source.type !== 'base64') return block;
  const type = findMediaType(Buffer.from(block.source.data.slice(0, HEAD_LENGTH), 'base64'));
  if (type === undefined || type === block.source.media_type) return block;
  draft.adapted.add('types of images');
  return { ...block, source: { ...block.source, media_type: type } };
}

/** Characters of base64 that contain the first bytes of every format. */
const HEAD_LENGTH = 64;

/** Bounds the marks of the cache. @see planMarks */
function fitMarks(draft: MessagesDraft, body: WireBody): void {
  const marks: CacheMark[] = [];
  const addMark = ({ cache_control: mark }: { cache_control?: CacheMark }): void => {
    if (mark) marks.push(mark);
  };
  body.tools?.forEach(addMark);
  visitBlocks(body, addMark);
  if (marks.length === 0) return;
  const plan = planMarks(marks, draft.dialect.cache!, body.cache_control === undefined ? 0 : 1);
  if (!plan) return;
  draft.dropped.push(...plan.lost);
  let next = 0;
  const replace = <Marked extends { cache_control?: CacheMark }>(block: Marked): Marked =>
    block.cache_control ? replaceMark(block, plan.fitted[next++]) : block;
  if (body.tools) body.tools = body.tools.map(replace);
  mapBlocks(body, replace);
}
