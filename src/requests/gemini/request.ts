import { invalidRequest } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';
import type { NativeRequest } from '../../domain/native.ts';
import type { ReasoningSetting, TextSetting } from '../../domain/request.ts';
import { isObject } from '../../schema/by-kind.ts';
import { dropNulls } from '../../schema/drop-nulls.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import { PathNotes } from '../path-notes.ts';
import type { RenameFields } from '../rename-fields.ts';
import type { RequestHints } from '../request-hints.ts';
import { type ParsedRequest, readTranslated, type TranslatedBody } from '../responses/request.ts';
import { geminiNames } from './field-names.ts';
import { readOpenApiSchema } from './json-schema.ts';
import { type GeminiBody, type GeminiConfig, geminiSchema, isGeminiBody, sharedGeminiFields } from './schema.ts';
import { spellFields } from './spelling.ts';
import { writeGeminiInput } from './write-input.ts';
import { translateGeminiTools } from './write-tools.ts';

const keptNames: ReadonlySet<string> = new Set(sharedGeminiFields);

/** Facts that the path of a request contains. */
export interface GeminiTarget {
  model: string;
  stream: boolean;
}

/**
 * Translates a checked body into the request that the pipeline serves.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`; the paths are those of the request
 * @see docs/reference/gemini.md
 */
export function readGeminiRequest(body: GeminiBody, target: GeminiTarget, hints: RequestHints): ParsedRequest {
  const { translated, native } = translateGeminiBody(body, target);
  const read = readTranslated(translated, new IgnoredFields(), hints);
  read.request.native = native;
  if (read.request.instructions === '') delete read.request.instructions;
  return read;
}

/** @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues` */
export function checkGeminiBody(body: unknown): GeminiBody {
  spellFields(body, keptNames);
  if (isGeminiBody(body)) return body;
  const report = new Report();
  if (!isObject(body)) report.add('', `must be a JSON object, got ${show(body)}`);
  else if (body['contents'] === undefined) report.add('contents', 'is missing: send a list of contents');
  else explainIssues(geminiSchema, body, '', report);
  // A body that failed its check is rejected, even if there is no explanation.
  if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
  throw invalidRequest(report.issues);
}

/** Reads a body that has passed its check again. */
function readAgain(body: unknown): GeminiBody {
  spellFields(body, keptNames);
  dropNulls(geminiSchema, body);
  return body as GeminiBody; // its check has passed
}

/** Reads the input of a checked body again. */
export const readGeminiInput = (body: unknown): InputItem[] => writeGeminiInput(readAgain(body));

/**
 * Returns a function that replaces the paths in a text by those of the body.
 *
 * @param body parses the body again, because the translation has taken parts of it. Called at the first text
 */
export function citeGeminiBody(body: () => unknown): RenameFields {
  let notes: PathNotes | undefined;
  return (text) => {
    if (!notes) {
      notes = new PathNotes(geminiNames);
      translateGeminiBody(readAgain(body()), { model: '', stream: false }, notes);
    }
    return notes.translateText(text);
  };
}

/** Settings with another name in the request of the pipeline. */
const settings = [
  ['maxOutputTokens', 'max_output_tokens'],
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['seed', 'seed'],
  ['presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['responseLogprobs', 'logprobs'],
  ['logprobs', 'top_logprobs'],
] as const satisfies readonly (readonly [keyof GeminiConfig, keyof TranslatedBody])[];

/** Fields of the body that the request of the pipeline contains completely. */
const translated: ReadonlySet<string> = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'model',
  ...sharedGeminiFields,
]);

/**
 * Translates a checked body into the fields of the pipeline's request. Pure.
 *
 * @param notes receives the paths of the body for those of the request
 * @see docs/reference/gemini.md#translation
 */
export function translateGeminiBody(
  body: GeminiBody,
  { model, stream }: GeminiTarget,
  notes?: PathNotes,
): { translated: TranslatedBody; native: NativeRequest } {
  const written: Record<string, unknown> = {};
  const config: GeminiConfig = body.generationConfig ?? {};
  const put = (name: keyof TranslatedBody, value: unknown, from: string): void => {
    notes?.add(name, from);
    if (value !== undefined && value !== null) written[name] = value;
  };
  for (const field of sharedGeminiFields) put(field, body[field], field);
  if (model !== '') put('model', model, 'model');
  put('stream', stream, 'stream');
  for (const [theirs, ours] of settings) put(ours, config[theirs], `generationConfig.${theirs}`);
  put('stop', config.stopSequences?.length ? config.stopSequences : undefined, 'generationConfig.stopSequences');
  const tier = readTier(body.serviceTier);
  put('service_tier', tier, 'serviceTier');
  const { systemInstruction: system } = body;
  // Parts are messages of the input. The empty text keeps the system prompt of a preset from joining them.
  if (system) written['instructions'] = typeof system === 'string' ? system : '';
  notes?.add('instructions', 'systemInstruction');
  written['input'] = writeGeminiInput(body, notes);
  notes?.add('input', 'contents');
  const { tools, choice, native: nativeTools } = translateGeminiTools(body, notes);
  put('tools', tools, 'tools');
  put('tool_choice', choice, 'toolConfig.functionCallingConfig');
  const names = 'toolConfig.functionCallingConfig.allowedFunctionNames';
  notes?.add('tool_choice.name', `${names}[0]`);
  for (const index of body.toolConfig?.functionCallingConfig?.allowedFunctionNames?.keys() ?? [])
    notes?.add(`tool_choice.tools[${index}].name`, `${names}[${index}]`);
  const reasoning = readReasoning(config);
  put('reasoning', reasoning, 'generationConfig.thinkingConfig');
  notes?.add('reasoning.max_tokens', 'generationConfig.thinkingConfig.thinkingBudget');
  notes?.add('reasoning.effort', 'generationConfig.thinkingConfig.thinkingLevel');
  notes?.add('reasoning.summary', 'generationConfig.thinkingConfig.includeThoughts');
  const text = readText(config);
  put('text', text, 'generationConfig.responseMimeType');
  notes?.add('text.format', 'generationConfig.responseMimeType');
  const modalities = readModalities(config);
  put('modalities', modalities, 'generationConfig.responseModalities');
  put('image_config', readImageConfig(config), 'generationConfig.imageConfig');
  const fields = Object.entries(body).filter(
    ([name, value]) =>
      !(translated.has(name) || (name === 'serviceTier' && tier)) && value !== undefined && value !== null,
  );
  return {
    translated: written as TranslatedBody, // each field was written in its shape
    native: {
      format: 'gemini',
      fields: Object.fromEntries(fields),
      tools: nativeTools,
      version: undefined,
      betas: [],
      replaces: { reasoning, text, modalities, tool_choice: choice },
    },
  };
}

function readTier(tier: string | null | undefined): string | undefined {
  const word = tier?.toLowerCase();
  return word === 'flex' || word === 'priority' ? word : word === 'standard' ? 'default' : undefined;
}

/** @see docs/reference/gemini.md#reasoning */
function readReasoning({ thinkingConfig: thinking }: GeminiConfig): ReasoningSetting | undefined {
  if (!thinking) return undefined;
  const { includeThoughts: shows, thinkingBudget: budget, thinkingLevel: level } = thinking;
  const shown = shows ? ({ summary: 'auto' } as const) : undefined;
  if (budget === 0) return { enabled: false };
  if (level && level !== 'THINKING_LEVEL_UNSPECIFIED') return { effort: level.toLowerCase(), ...shown };
  if (typeof budget === 'number' && budget > 0) return { max_tokens: budget, ...shown };
  return budget === -1 || shows ? { enabled: true, ...shown } : undefined;
}

function readText({
  responseMimeType: type,
  responseSchema,
  responseJsonSchema,
}: GeminiConfig): TextSetting | undefined {
  const schema = responseJsonSchema ?? (responseSchema ? readOpenApiSchema(responseSchema) : undefined);
  if (type ? type !== 'application/json' : !schema) return undefined;
  if (!schema) return { format: { type: 'json_object' } };
  return { format: { type: 'json_schema', name: 'response', schema } };
}

/** Other modalities than these reach only an endpoint of the same format. */
function readModalities({ responseModalities: given }: GeminiConfig): ('text' | 'image')[] | undefined {
  const known = (given ?? []).map((each) => each.toLowerCase()).filter((each) => each === 'text' || each === 'image');
  return known.includes('image') ? known : undefined;
}

/** Settings of images with another name in the interface. */
const imageSettings: ReadonlyMap<string, string> = new Map([
  ['aspectRatio', 'aspect_ratio'],
  ['imageSize', 'image_size'],
]);

function readImageConfig({ imageConfig }: GeminiConfig): Record<string, unknown> | undefined {
  if (!imageConfig) return undefined;
  const settings = Object.entries(imageConfig).filter(([, value]) => value !== null);
  return Object.fromEntries(settings.map(([name, value]) => [imageSettings.get(name) ?? name, value]));
}
