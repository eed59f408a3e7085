import { parseExactly } from '../domain/exact-numbers.ts';
import { isNativePart, NATIVE_FIELD } from '../domain/native.ts';
import { isObject } from '../schema/by-kind.ts';
import { checkChatBody, translateChat } from './chat/request.ts';
import { knownChatFields } from './chat/schema.ts';
import { checkMessagesBody, citeBody, translateBody } from './messages/request.ts';
import { messagesFields } from './messages/schema.ts';
import { readPresetConfig } from './responses/preset-config.ts';

/** The settings of a preset from the body of a request. */
export interface PresetBody {
  config: Record<string, unknown>;
  /** As the body has it; not checked. */
  systemPrompt: unknown;
  /** Fields that a preset has no place for. */
  unknown: string[];
}

type Body = Record<string, unknown>;
type Turn = { role?: unknown; content?: unknown };

const anyTurn = [{ role: 'user', content: 'x' }];

/** Takes the settings from a body of `POST /responses`. Does not check them. */
export const readResponsesPreset = (body: Body): PresetBody => readPresetConfig(body);

/**
 * Takes the settings from a body of chat completions. The system messages before all others are the system prompt.
 * choice 777
 *
 * @throws {GatewayError} `invalid_request`
 */
export function readChatPreset(body: Body): PresetBody {
  const whole: Body = { ...body, messages: body['messages'] ?? anyTurn };
  const translated = translateChat(checkChatBody(copyBody(whole)));
  const { config, unknown } = readPresetConfig({ ...translated });
  const native = leaveOutNativeTools(config);
  const messages = whole['messages'] as Turn[]; // the check has passed
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const prompts = messages.slice(0, first === -1 ? messages.length : first);
  return {
    config,
    systemPrompt: joinTexts(prompts.map(({ content }) => content)),
    unknown: [...listUnknown(body, knownChatFields), ...unknown, ...native],
  };
}

/**
 * Reads the settings of a body of the Messages API. A preset cannot have settings that exist only in this format.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function readMessagesPreset(body: Body): PresetBody {
  const whole: Body = { ...body, messages: body['messages'] ?? anyTurn };
  const rename = citeBody(() => copyBody(whole)); // the translation takes parts of a body
  const checked = checkMessagesBody(copyBody(whole));
  const { translated } = translateBody(checked, { version: undefined, betas: [] });
  const { config, unknown } = readPresetConfig({ ...translated });
  const native = leaveOutNativeTools(config);
  for (const field of ['container', 'context_management']) if (isObject(body[field])) native.push(field);
  return {
    config,
    systemPrompt: joinTexts([body['system']]),
    unknown: [...listUnknown(body, messagesFields), ...unknown.map(rename), ...native.map(rename)],
  };
}

/** Copies a body with the numbers that keep their digits, which `structuredClone` cannot copy. */
const copyBody = (body: Body): Body => parseExactly(JSON.stringify(body), 'request') as Body;

const listUnknown = (body: Body, known: ReadonlySet<string>): string[] =>
  Object.keys(body).filter((field) => !known.has(field));

/** Leaves out tools, and fields of tools, that only the native wire has. @returns their paths */
function leaveOutNativeTools(config: Body): string[] {
  const { tools } = config;
  if (!Array.isArray(tools)) return [];
  const left: string[] = [];
  const kept = (tools as (Body & { type: string })[]).flatMap((tool, at): Body[] => {
    const path = `tools[${at}]`;
    if (!isNativePart(tool)) return [withoutNative(tool, path, left)];
    left.push(path);
    return [];
  });
  config['tools'] = kept;
  return left;
}

/** Leaves out the fields that only the native wire has, and notes those of a function. */
function withoutNative({ [NATIVE_FIELD]: native, ...tool }: Body, path: string, left: string[]): Body {
  // The others have the whole tool of the client there, whose settings the tool has.
  if (isObject(native) && native['name'] === undefined) {
    for (const field of Object.keys(native)) left.push(`${path}.${field}`);
  }
  return tool;
}

/** @returns null if there is no text */
function joinTexts(contents: readonly unknown[]): string | null {
  const texts = contents.flatMap((content) => {
    if (typeof content === 'string') return [content];
    return Array.isArray(content) ? content.flatMap((part: { text?: unknown }) => part.text ?? []) : [];
  });
  return texts.length === 0 ? null : texts.join('\n\n');
}
