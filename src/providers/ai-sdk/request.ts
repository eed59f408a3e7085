import { efforts, type ReasoningEffort } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { type Draft, dropRest, isSet, listAdaptations, refuse } from '../kit/draft.ts';
import { noteEffort, planEffort } from '../kit/effort.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { createNameFitter } from '../rules/fit/names.ts';
import type { OfferedTools } from '../kit/offered-tools.ts';
import { addTools, planTools, ToolBox, type ToolPlan } from '../kit/tool-box.ts';
import { writePrompt } from './prompt.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  /** Name of the package. */
  name: string;
  upstreamModel: string;
  tools?: OfferedTools;
}

/** Fields that are written below. Every other field that reaches the wire is added to `dropped`. */
const writtenFields = new Set([
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'modalities',
  'stop',
  'seed',
]);

/**
 * Translates a request into the call options of a language model of the AI SDK.
 *
 * @param name the package that opaque reasoning is bound to
 */
export function writeRequest(request: ResponseRequest, target: Target, name: string): UpstreamRequest<ReaderContext> {
  const draft: Draft = { target, format: 'AI SDK', dropped: [], adapted: new Set() };
  if (request.prompt) throw refuse(draft, 'prompt', 'A prompt template');
  const conversation = writePrompt(draft, request, name);
  const body: Record<string, unknown> = { prompt: conversation.prompt };

  const box = new ToolBox();
  if (request.tools) addTools(draft, box, { tools: request.tools, path: 'tools' });
  for (const list of conversation.additionalTools) addTools(draft, box, { ...list, replaces: true });
  const { tools, choice } = planTools(draft, box, request.tool_choice);
  const toFitted = createNameFitter({});
  const fitName = (name: string): string => {
    const fitted = toFitted(name);
    if (fitted !== name) {
      draft.adapted.add('names of tools');
      box.offered ??= new Map();
      box.offered.set(fitted, box.offered.get(name) ?? { name, kind: 'function' });
    }
    return fitted;
  };
  if (tools.length > 0) {
    body.tools = tools.map(({ parameters, name: toolName, ...tool }) => ({
      type: 'function',
      name: fitName(toolName),
      ...tool,
      inputSchema: parameters ?? { type: 'object', properties: {} },
    }));
    if (choice !== undefined) body.toolChoice = writeChoice(choice, fitName);
  }
  for (const { content } of conversation.prompt) {
    if (typeof content === 'string') continue;
    for (const part of content) if (typeof part['toolName'] === 'string') part['toolName'] = fitName(part['toolName']);
  }
  const put = (field: string, value: unknown): void => {
    if (isSet(value)) body[field] = value;
  };
  put('maxOutputTokens', request.max_output_tokens);
  put('temperature', request.temperature);
  put('topP', request.top_p);
  put('topK', request.top_k);
  put('stopSequences', request.stop);
  put('seed', request.seed);
  put('frequencyPenalty', request.frequency_penalty);
  put('presencePenalty', request.presence_penalty);
  put('reasoning', readEffort(draft, request, conversation.effort));
  put('responseFormat', writeFormat(draft, request.text));
  if (request.modalities?.includes('image')) draft.dropped.push('modalities');
  dropRest(draft, request, writtenFields);

  const readerContext: ReaderContext = { name, upstreamModel: target.upstreamModel };
  if (box.offered) readerContext.tools = box.offered;
  return { path: '', body, dropped: draft.dropped, readerContext, ...listAdaptations(draft) };
}

const writeChoice = (choice: NonNullable<ToolPlan['choice']>, fitName: (name: string) => string): object =>
  typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: fitName(choice.name) };

function readEffort(
  { dropped }: Draft,
  { reasoning, max_output_tokens: limit }: ResponseRequest,
  update: ReasoningEffort | undefined,
): ReasoningEffort | undefined {
  const effort = planEffort(reasoning, update, limit, efforts);
  for (const field of ['summary', 'context', 'mode'] as const)
    if (reasoning?.[field]) dropped.push(`reasoning.${field}`);
  noteEffort(dropped, reasoning, update, effort);
  return effort;
}

function writeFormat({ dropped }: Draft, text: ResponseRequest['text']): object | undefined {
  if (text?.verbosity) dropped.push('text.verbosity');
  const format = text?.format;
  if (format?.type === 'json_object') return { type: 'json' };
  if (format?.type !== 'json_schema') return undefined;
  const { name, description, schema, strict } = format;
  if (strict) dropped.push('text.format.strict');
  return { type: 'json', schema, name, ...(description === undefined ? undefined : { description }) };
}
