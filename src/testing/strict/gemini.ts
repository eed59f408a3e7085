import { json, type ScriptedResponse, sse } from '../scripted-responses.ts';
import { planOutput } from './plan-output.ts';
import { findRefusal, type StrictRules } from './rules.ts';
import { emptyMessage, isFields, type Schema, type Seen, type SeenMessage } from './seen.ts';
import type { ResponseParts, StrictProvider } from './strict-provider.ts';
import { envelopes } from './words.ts';

/** A server of `generateContent`: what it refuses, and how it answers. */
export interface GeminiDescription {
  id: string;
  provider?: string;
  model: string;
  rules: StrictRules;
  /** Whether calls have ids. */
  callIds?: boolean;
  /** Whether the first call of a turn has a signature. */
  signed?: boolean;
}

/** Creates a strict server of `generateContent`. */
export function strictGemini(described: GeminiDescription): StrictProvider {
  const { id, provider, model, rules } = described;
  return {
    id,
    ...(provider !== undefined && { provider }),
    wire: 'gemini',
    model,
    check: (body, path) => findRefusal(rules, envelopes.google, readGemini(body as GeminiBody, path), body),
    answer: (body, parts) => answerGemini(body as GeminiBody, described, parts),
  };
}

interface Part {
  text?: string;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  fileData?: { fileUri: string };
  functionCall?: { id?: string; name: string; args?: unknown };
  functionResponse?: { id?: string; name: string };
}

interface GeminiBody {
  contents: { role?: 'user' | 'model'; parts: Part[] }[];
  systemInstruction?: { parts: Part[] };
  tools?: {
    functionDeclarations?: { name: string; description?: string; parameters?: Schema; parametersJsonSchema?: Schema }[];
    googleSearch?: object;
  }[];
  toolConfig?: { functionCallingConfig?: { mode?: string; allowedFunctionNames?: string[] } };
  generationConfig?: Record<string, unknown>;
  serviceTier?: unknown;
}

const modes = { AUTO: 'auto', NONE: 'none', ANY: 'required', VALIDATED: 'auto' } as const;

function readGemini(body: GeminiBody, path: string): Seen {
  const { contents = [], systemInstruction: system, tools, toolConfig, generationConfig: config = {} } = body;
  const { serviceTier: tier } = body;
  const declared = tools?.flatMap(({ functionDeclarations: functions }) => functions ?? []);
  const prompt = system ? [readTurn({ parts: system.parts }, 'system')] : [];
  const seen: Seen = {
    settings: typeof tier === 'string' ? { ...config, serviceTier: tier } : config,
    messages: [...prompt, ...contents.map((turn) => readTurn(turn, turn.role === 'model' ? 'assistant' : 'user'))],
    stops: (config['stopSequences'] as string[] | undefined) ?? [],
    stream: path.includes(':streamGenerateContent'),
    marks: [],
  };
  if (declared)
    seen.tools = declared.map(({ name, description, parameters, parametersJsonSchema: schema }) => ({
      name,
      ...(description !== undefined && { description }),
      ...((schema ?? parameters) && { parameters: (schema ?? parameters)! }),
    }));
  const calling = toolConfig?.functionCallingConfig;
  if (calling) {
    const names = calling.allowedFunctionNames ?? [];
    seen.choice = names.length === 1 ? 'named' : modes[(calling.mode ?? 'AUTO') as keyof typeof modes];
    if (names.length === 1) seen.chosen = names[0]!;
  }
  const schema = config['responseJsonSchema'] ?? config['responseSchema'];
  if (isFields(schema)) seen.format = { kind: 'json_schema', schema };
  else if (config['responseMimeType'] === 'application/json') seen.format = { kind: 'json_object' };
  if (typeof config['maxOutputTokens'] === 'number') seen.output = config['maxOutputTokens'];
  if (isFields(config['thinkingConfig'])) seen.thinking = config['thinkingConfig']['thinkingBudget'] !== 0;
  const isEmpty = contents.some(
    ({ parts }) => parts.length === 0 || parts.some((part) => Object.keys(part).length === 0),
  );
  if (isEmpty)
    seen.fault =
      'Unable to submit request because it must include at least one parts field, which describes the prompt input.';
  const order = findOrderFault(seen.messages.slice(prompt.length));
  if (order !== undefined) seen.fault = order;
  return seen;
}

/** Sources: RightNow-AI/openfang#1011, tidyverse/ellmer#459 */
function findOrderFault(turns: SeenMessage[]): string | undefined {
  for (const [index, { role, calls, results }] of turns.entries()) {
    const before = turns[index - 1];
    if (calls.length > 0 && before?.role !== 'user')
      return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
    if (results.length > 0 && (role !== 'user' || before === undefined || before.calls.length === 0))
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    const expected = before?.calls.length ?? 0;
    if (expected !== results.length)
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
  }
  return undefined;
}

function readTurn({ parts }: { parts: Part[] }, role: SeenMessage['role']): SeenMessage {
  const seen = emptyMessage(role);
  const place = (id: string | undefined, name: string, index: number): string => id ?? `${name} ${index}`;
  for (const {
    text,
    inlineData: data,
    fileData,
    functionCall: call,
    functionResponse: result,
    thoughtSignature,
  } of parts) {
    if (text !== undefined) seen.texts.push(text);
    if (data) seen.images.push({ data: data.data, type: data.mimeType });
    seen.kinds.push(data || fileData ? 'data' : call ? 'call' : result ? 'result' : 'text');
    if (call)
      seen.calls.push({
        id: place(call.id, call.name, seen.calls.length),
        name: call.name,
        arguments: call.args ?? {},
      });
    if (result)
      seen.results.push({
        id: place(result.id, result.name, seen.results.length),
        hasImages: false,
        isEmpty: false,
        kinds: [],
      });
    if (call && seen.calls.length === 1) seen.isSigned = thoughtSignature !== undefined;
  }
  return seen;
}

function answerGemini(
  body: GeminiBody,
  { model, callIds, signed }: GeminiDescription,
  { nextCall, path }: ResponseParts,
): ScriptedResponse {
  const seen = readGemini(body, path);
  const planned = planOutput(seen, () => `id_${nextCall()}`);
  const parts: object[] = planned.calls.map(({ id, name, input }, index) => ({
    functionCall: { ...(callIds && { id }), name, args: input },
    ...(signed && index === 0 && { thoughtSignature: 'c3RyaWN0IHNpZ25hdHVyZQ==' }),
  }));
  if (planned.text !== '') parts.push({ text: planned.text });
  const usage = { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 };
  const response = (some: object[], isLast: boolean) => ({
    candidates: [{ content: { parts: some, role: 'model' }, index: 0, ...(isLast && { finishReason: 'STOP' }) }],
    usageMetadata: usage,
    modelVersion: model,
    responseId: 'strict',
  });
  if (!seen.stream) return json(response(parts, true));
  return sse(parts.map((part, index) => response([part], index === parts.length - 1)));
}
