import type { OfferedTools } from '../kit/offered-tools.ts';
import { addFields, fitFields } from '../rules/fit/fields.ts';
import { createNameFitter } from '../rules/fit/names.ts';
import { mustOmitFunctions } from '../rules/fit/offer.ts';
import { dropPaths } from '../rules/fit/paths.ts';
import { fitSchema } from '../rules/fit/schemas.ts';
import { NO_RESULT } from '../rules/fit/texts.ts';
import type { GeminiDraft } from './parts.ts';
import type { GeminiContent, Part, ReaderContext } from './wire.ts';

type Config = Record<string, unknown>;

interface Declaration {
  name: string;
  description?: string;
  parameters?: Record<string, unknown>;
  parametersJsonSchema?: Record<string, unknown>;
}

/** A body of `generateContent` before and after it is fitted. */
export type WireBody = Record<string, unknown> & {
  contents: GeminiContent[];
  systemInstruction?: { parts: Part[] };
  tools?: { functionDeclarations?: Declaration[]; googleSearch?: object }[];
  toolConfig?: { functionCallingConfig?: { mode: string; allowedFunctionNames?: string[] } };
  generationConfig?: Config;
};

/**
 * Fits a body to the rules of its endpoint, in a fixed order: turns, tools, format, single fields, stops, limits.
 *
 * @throws {GatewayError} `invalid_request` that names the rule, if the request cannot be adapted
 * @see docs/reference/provider-rules.md
 */
export function fitBody(draft: GeminiDraft, body: WireBody, context: ReaderContext): void {
  const { dialect } = draft;
  if (dialect.tools || dialect.schemas) fitTools(draft, body, context);
  if (dialect.turns) fitTurns(draft, body);
  const config = body.generationConfig;
  if (config) {
    if (dialect.format) fitFormat(draft, body, config);
    const { responseJsonSchema: format } = config as { responseJsonSchema?: Record<string, unknown> };
    if (dialect.schemas && format)
      config.responseJsonSchema = fitSchema(format, dialect.schemas, { closes: false, keepsRoot: true });
    if (dialect.fields) fitFields(config, dialect.fields, situationOf(draft, body, config), draft, nameOf);
    if (dialect.stops) fitStops(draft, config);
    if (dialect.output) fitOutput(draft, config);
    if (Object.keys(config).length === 0) delete body.generationConfig;
  }
  if (dialect.body) addFields(body, dialect.body);
  if (dialect.omit_paths) dropPaths(body, dialect.omit_paths, draft);
}

/** Names in the request of the client, for fields that have another name in this format. */
const names: Readonly<Record<string, string>> = {
  topP: 'top_p',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  responseLogprobs: 'logprobs',
  logprobs: 'top_logprobs',
  maxOutputTokens: 'max_output_tokens',
};
const nameOf = (field: string): string => names[field] ?? field;

const hasFunctions = ({ tools }: WireBody): boolean =>
  tools?.some(({ functionDeclarations: declared }) => (declared?.length ?? 0) > 0) === true;

const situationOf = ({ target }: GeminiDraft, body: WireBody, config: Config) => ({
  tools: hasFunctions(body),
  forced: body.toolConfig?.functionCallingConfig?.mode === 'ANY',
  thinking: config.thinkingConfig !== undefined,
  stream: target.stream,
  format: config.responseMimeType !== undefined,
  effort: undefined,
});

function fitTools(draft: GeminiDraft, body: WireBody, context: ReaderContext): void {
  const { tools: rules = {}, schemas } = draft.dialect;
  const functions = body.tools?.reduce((sum, { functionDeclarations: declared = [] }) => sum + declared.length, 0) ?? 0;
  const hosted = body.tools?.filter(({ functionDeclarations: declared }) => declared === undefined) ?? [];
  const isForbidden = body.toolConfig?.functionCallingConfig?.mode === 'NONE';
  if (mustOmitFunctions(draft, rules, { all: functions + hosted.length, functions, isForbidden })) {
    body.tools = hosted;
    delete body.toolConfig!.functionCallingConfig;
    if (Object.keys(body.toolConfig!).length === 0) delete body.toolConfig;
  }
  if (rules.with_search === false && hasFunctions(body) && body.tools!.some(({ googleSearch: search }) => search)) {
    body.tools = body.tools!.filter(({ googleSearch: search }) => !search);
    delete context.searches;
    draft.dropped.push('tools (web_search, which the model does not combine with functions)');
  }
  const toFitted = createNameFitter(rules);
  const fitName = (name: string): string => {
    const fitted = toFitted(name);
    if (fitted === name) return name;
    draft.adapted.add('names of tools');
    const offered = new Map<string, OfferedTools extends ReadonlyMap<string, infer Tool> ? Tool : never>(context.tools);
    offered.set(fitted, context.tools?.get(name) ?? { name, kind: 'function' });
    context.tools = offered;
    return fitted;
  };
  body.tools = body.tools?.map((tool) => {
    if (!tool.functionDeclarations) return tool;
    const functionDeclarations = tool.functionDeclarations.map((declared) => {
      const { parametersJsonSchema: schema } = declared;
      const fitted = { ...declared, name: fitName(declared.name) };
      if (schema && schemas) fitted.parametersJsonSchema = fitSchema(schema, schemas, { closes: false });
      return fitted;
    });
    return { ...tool, functionDeclarations };
  });
  if (body.tools === undefined || body.tools.length === 0) delete body.tools;
  const config = body.toolConfig?.functionCallingConfig;
  if (config?.allowedFunctionNames) {
    body.toolConfig = {
      functionCallingConfig: { ...config, allowedFunctionNames: config.allowedFunctionNames.map(fitName) },
    };
  }
  for (const { parts } of body.contents) {
    for (const part of parts) {
      if (part.functionCall) part.functionCall = { ...part.functionCall, name: fitName(part.functionCall.name) };
      if (part.functionResponse)
        part.functionResponse = { ...part.functionResponse, name: fitName(part.functionResponse.name) };
    }
  }
}

const CONTINUE: GeminiContent = { role: 'user', parts: [{ text: 'Continue.' }] };

function fitTurns(draft: GeminiDraft, body: WireBody): void {
  const rules = draft.dialect.turns!;
  if (rules.system === 'user' && body.systemInstruction) {
    const [first, ...rest] = body.contents;
    const { parts } = body.systemInstruction;
    body.contents =
      first?.role === 'user'
        ? [{ role: 'user', parts: [...parts, ...first.parts] }, ...rest]
        : [{ role: 'user', parts }, ...body.contents];
    delete body.systemInstruction;
    draft.adapted.add('roles');
  }
  if (rules.results) fitResults(draft, body);
  if (rules.user_first && body.contents[0]?.role === 'model') {
    body.contents = [CONTINUE, ...body.contents];
    draft.adapted.add('a first message of the user');
  }
  if (rules.user_last && body.contents.at(-1)?.role === 'model') {
    body.contents = [...body.contents, CONTINUE];
    draft.adapted.add('a last message of the user');
  }
}

type Named = { id?: string; name: string };

/** A result without an id is that of a call with its name: the client for Python writes no id in its automatic calls. */
function listCallsWithoutResult(calls: readonly Named[], results: readonly Named[]): Named[] {
  const open = [...results]; // two calls with one id have two results
  const take = (isResult: (result: Named) => boolean): boolean => {
    const at = open.findIndex(isResult);
    if (at !== -1) open.splice(at, 1);
    return at !== -1;
  };
  return calls
    .filter(({ id }) => id === undefined || !take((result) => result.id === id))
    .filter(({ name }) => !take((result) => result.id === undefined && result.name === name));
}

/** Gives every turn with calls as many results in the next turn. */
function fitResults(draft: GeminiDraft, body: WireBody): void {
  const contents: GeminiContent[] = [];
  for (let index = 0; index < body.contents.length; index++) {
    const turn = body.contents[index]!;
    contents.push(turn);
    const calls = turn.role === 'model' ? turn.parts.flatMap(({ functionCall: call }) => (call ? [call] : [])) : [];
    if (calls.length === 0) continue;
    const next = body.contents[index + 1];
    const results =
      next?.role === 'user' ? next.parts.flatMap(({ functionResponse: result }) => (result ? [result] : [])) : [];
    const missing = listCallsWithoutResult(calls, results);
    if (missing.length === 0) continue;
    draft.adapted.add('calls without a result');
    const added = missing.map(
      ({ id, name }): Part => ({
        functionResponse: { ...(id !== undefined && { id }), name, response: { error: NO_RESULT } },
      }),
    );
    if (next?.role !== 'user') contents.push({ role: 'user', parts: added });
    else {
      const last = next.parts.findLastIndex((part) => part.functionResponse) + 1;
      contents.push({ role: 'user', parts: [...next.parts.slice(0, last), ...added, ...next.parts.slice(last)] });
      index++;
    }
  }
  body.contents = contents;
}

/** Moves a format into the instructions, for a model that does not combine it with functions. */
function fitFormat(draft: GeminiDraft, body: WireBody, config: Config): void {
  if (draft.dialect.format!.with_tools !== false || config.responseMimeType === undefined || !hasFunctions(body))
    return;
  const schema = config.responseJsonSchema ?? config.responseSchema;
  for (const name of ['responseMimeType', 'responseJsonSchema', 'responseSchema']) delete config[name];
  const must = schema ? ` It must match this JSON schema: ${JSON.stringify(schema)}` : '';
  const text = `Unless you call a function, respond with one JSON object and nothing else.${must}`;
  body.systemInstruction = { parts: [...(body.systemInstruction?.parts ?? []), { text }] };
  draft.dropped.push('text.format (requested in the prompt)');
}

function fitStops(draft: GeminiDraft, config: Config): void {
  const { max } = draft.dialect.stops!;
  const stops = config.stopSequences as string[] | undefined;
  if (!stops || max === undefined || stops.length <= max) return;
  config.stopSequences = stops.slice(0, max);
  draft.appliedStops = stops.slice(max);
  draft.adapted.add('stop');
}

function fitOutput(draft: GeminiDraft, config: Config): void {
  const { min = 1, max = Number.POSITIVE_INFINITY } = draft.dialect.output!;
  const asked = config.maxOutputTokens;
  if (typeof asked !== 'number') return;
  const bounded = Math.max(Math.min(asked, max), min);
  if (bounded === asked) return;
  config.maxOutputTokens = bounded;
  draft.dropped.push(`max_output_tokens (${asked} → ${bounded})`);
}
