import { type NativeRequest, translatedGeminiSettings, UNTITLED_DOCUMENT } from '../../domain/native.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { levels } from './dialect.ts';
import type { ModelTraits } from './models.ts';
import type { GeminiDraft } from './parts.ts';
import type { ThinkingConfig } from './reasoning.ts';
import type { Part } from './wire.ts';

type Fields = Record<string, unknown>;

const formatFields = ['responseMimeType', 'responseSchema', 'responseJsonSchema'] as const;

/**
 * Adds what a client of the same format has sent, unchanged: fields that the request of the gateway cannot express, and
 * the original of those that it can, unless a stage of the gateway has changed them.
 *
 * @see docs/reference/gemini.md#the-native-wire
 */
export function writeNative(
  draft: GeminiDraft,
  body: Fields,
  request: ResponseRequest,
  { fields, replaces }: NativeRequest,
): void {
  const { generationConfig, toolConfig, ...rest } = fields as { generationConfig?: Fields; toolConfig?: Fields };
  for (const [name, value] of Object.entries(rest)) if (!(name in body)) body[name] = value;
  if (toolConfig && request.tool_choice === replaces.tool_choice) writeToolConfig(body, toolConfig);
  if (!generationConfig) return;
  const config: Fields = { ...(body.generationConfig as Fields | undefined) };
  for (const [name, value] of Object.entries(generationConfig)) {
    if (!translatedGeminiSettings.has(name) && value !== null) config[name] = value;
  }
  const copy = (name: string): void => {
    if (generationConfig[name] === undefined || generationConfig[name] === null) delete config[name];
    else config[name] = generationConfig[name];
  };
  const thinking = generationConfig.thinkingConfig as Partial<ThinkingConfig> | null | undefined;
  if (request.reasoning === replaces.reasoning && thinking && isRefused(thinking, draft.traits)) {
    const { thinkingConfig: fitted } = config as { thinkingConfig?: ThinkingConfig };
    if (fitted) config.thinkingConfig = { ...fitted, includeThoughts: thinking.includeThoughts ?? false };
    draft.adapted.add('thinkingConfig');
  } else if (request.reasoning === replaces.reasoning) {
    copy('thinkingConfig');
    draft.dropped = draft.dropped.filter((name) => !name.startsWith('reasoning.'));
  }
  if (request.text === replaces.text) for (const name of formatFields) copy(name);
  if (config.imageConfig) draft.dropped = draft.dropped.filter((name) => !name.startsWith('image_config.'));
  if (request.modalities === replaces.modalities) copy('responseModalities');
  if (generationConfig.imageConfig) {
    config.imageConfig = { ...(generationConfig.imageConfig as Fields), ...(config.imageConfig as Fields | undefined) };
  }
  if (Object.keys(config).length > 0) body.generationConfig = config;
}

/**
 * Whether a model refuses settings of thinking: a level beside a budget, a level of other models, a budget out of range.
 * Sources: sterlp/eclipse-peon-ai#115, juspay/neurolink#1707, RooCodeInc/Roo-Code#4399, snailyp/gemini-balance#206,
 * docker/docker-agent#2051, can1357/oh-my-pi#10543
 */
function isRefused(
  given: Partial<ThinkingConfig>,
  { thinking, min, max, canStop, levels: own, isKnown }: ModelTraits,
): boolean {
  const { thinkingBudget: budget, thinkingLevel: level } = given;
  const hasBudget = budget !== undefined && budget !== null;
  if (hasBudget && level) return true;
  if (!isKnown) return false;
  if (thinking === 'level') return level ? lacks(own, level) : budget === 0 && !canStop;
  if (thinking === 'none') return !!level || (hasBudget && budget !== 0);
  if (level) return true;
  if (!hasBudget || budget === -1) return false; // -1: the model decides
  return budget === 0 ? !canStop : budget < min || budget > max;
}

/** Whether it is a level that only other models have. */
function lacks(known: ModelTraits['levels'], level: string): boolean {
  const word = level.toLowerCase();
  return levels.some((each) => each === word) && !known.some((each) => each === word);
}

/** The provider rejects a choice of functions without functions. */
function writeToolConfig(body: Fields, { functionCallingConfig: choice, ...rest }: Fields): void {
  const tools = (body.tools ?? []) as { functionDeclarations?: unknown }[];
  const hasFunctions = tools.some(({ functionDeclarations: declared }) => declared);
  const config = { ...(hasFunctions && choice ? { functionCallingConfig: choice } : undefined), ...rest };
  if (Object.keys(config).length > 0) body.toolConfig = config;
}

/**
 * Adds the fields of a part that only the format has.
 *
 * @param native of the part, if the client has the same format
 * @param filename of the part
 */
export function withNative(part: Part, native: Readonly<Fields> | undefined, filename?: string): Part {
  if (!native) return part;
  const { inner: given, ...outer } = native as { inner?: Fields };
  const inner =
    given && (filename === undefined || filename === UNTITLED_DOCUMENT ? given : { ...given, displayName: filename });
  const written: Part = { ...part, ...outer };
  if (inner && part.inlineData) written.inlineData = { ...part.inlineData, ...inner };
  if (inner && part.fileData) written.fileData = { fileUri: part.fileData.fileUri, ...inner };
  return written;
}
