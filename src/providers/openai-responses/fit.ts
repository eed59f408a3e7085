import type { InputItem, ReasoningEffort, Tool, ToolOutputPart } from '../../domain/items.ts';
import { type Draft, refuseBecause } from '../kit/draft.ts';
import { createIdFitter } from '../rules/fit/call-ids.ts';
import { addFields, fitFields, type Situation } from '../rules/fit/fields.ts';
import { fitFormat } from '../rules/fit/format.ts';
import { createNameFitter } from '../rules/fit/names.ts';
import { fitSchema } from '../rules/fit/schemas.ts';
import type { Dialect } from './dialect.ts';

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
 * Fits a body to the rules of its endpoint, in a fixed order: results, ids, tools, format, reasoning, single fields, limits.
 * Items of the client are copied before they change.
 *
 * @throws {GatewayError} `invalid_request` that names the rule, if the request cannot be adapted
 * @see docs/reference/provider-rules.md
 */
export function fitBody(draft: ResponsesDraft, body: WireBody): void {
  const { dialect } = draft;
  if (dialect.turns?.results) fitResults(draft, body);
  if (dialect.ids) fitIds(draft, body);
  if (dialect.tools || dialect.schemas) fitTools(draft, body);
  if (dialect.format) fitFormat(draft, body, dialect.format, place);
  if (dialect.fields) fitFields(body, dialect.fields, situationOf(draft, body), draft);
  if (dialect.reasoning_rules) fitReasoning(draft, body);
  if (dialect.output) fitOutput(draft, body);
  if (dialect.body) addFields(body, dialect.body);
}

function situationOf({ target }: ResponsesDraft, body: WireBody): Situation {
  const { effort } = (body.reasoning ?? {}) as { effort?: ReasoningEffort };
  const choice = body.tool_choice;
  return {
    tools: (body.tools?.length ?? 0) > 0,
    forced: choice === 'required' || (typeof choice === 'object' && choice !== null),
    thinking: effort !== undefined && effort !== 'none',
    stream: target.stream,
    format: body.text?.format !== undefined && body.text.format.type !== 'text',
    effort,
  };
}

/** The result of a call that was interrupted. */
const NO_RESULT = 'The call was interrupted and has no result.';
const outputTypes: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
]);
const outputKinds: ReadonlySet<string> = new Set(outputTypes.values());

/** Gives every call a result. A result without a call becomes a message of the user. */
function fitResults(draft: ResponsesDraft, body: WireBody): void {
  const idOf = (item: InputItem): string => String((item as { call_id?: unknown }).call_id);
  const called = new Set(body.input.flatMap((item) => (outputTypes.has(item.type) ? [idOf(item)] : [])));
  const answered = new Set(body.input.flatMap((item) => (outputKinds.has(item.type) ? [idOf(item)] : [])));
  if (called.size === answered.size && [...called].every((id) => answered.has(id))) return;
  body.input = body.input.flatMap((item): InputItem[] => {
    const type = outputTypes.get(item.type);
    if (type !== undefined && !answered.has(idOf(item))) {
      draft.adapted.add('calls without a result');
      return [item, { type, call_id: idOf(item), output: NO_RESULT } as InputItem]; // of the kind of its call
    }
    if (!outputKinds.has(item.type) || called.has(idOf(item))) return [item];
    draft.adapted.add('results without a call');
    const { output } = item as { output?: string | ToolOutputPart[] };
    const content = typeof output === 'string' ? [{ type: 'input_text' as const, text: output }] : (output ?? []);
    return [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Result of a tool:' }, ...content] },
    ];
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
  const { endpoint } = draft.target;
  if (body.tools && rules.max !== undefined && body.tools.length > rules.max) {
    throw refuseBecause(
      'tools',
      `${endpoint} takes at most ${rules.max} tools, and the request has ${body.tools.length}.`,
    );
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
    const { parameters } = named as { parameters?: Record<string, unknown> };
    if (!schemas || !parameters) return named;
    const schema = fitSchema(parameters, schemas, { closes: schemas.closed === 'always' });
    return schema === parameters ? named : { ...named, parameters: schema };
  });
  if (body.tools === undefined) delete body.tools;
  const choice = body.tool_choice;
  if (typeof choice === 'object' && choice !== null) body.tool_choice = fitNamed(choice);
  const isCall = ({ type }: InputItem) => type === 'function_call' || type === 'custom_tool_call';
  body.input = body.input.map((item) => (isCall(item) ? fitNamed(item) : item));
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
