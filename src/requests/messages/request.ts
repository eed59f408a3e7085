import { GatewayError, invalidRequest, type Issue } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';
import type { NativeRequest } from '../../domain/native.ts';
import type { ReasoningSetting, TextSetting } from '../../domain/request.ts';
import { isObject } from '../../schema/by-kind.ts';
import { dropNulls } from '../../schema/drop-nulls.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import type { RequestHints } from '../request-hints.ts';
import { type ParsedRequest, readTranslated, type TranslatedBody } from '../responses/request.ts';
import type { FormatHeaders } from './format-headers.ts';
import { PathNotes } from '../path-notes.ts';
import { messageNames } from './field-names.ts';
import { isMessagesBody, type MessagesBody, messagesSchema, sharedFields } from './schema.ts';
import { checkMessagesRules } from './check-rules.ts';
import { writeMessagesInput } from './write-input.ts';
import { listIgnoredFields, translateTools } from './write-tools.ts';

/**
 * Translates a checked body into the request that the pipeline serves.
 *
 * @param format what the headers say
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`; the paths are those of the request
 * @see docs/reference/messages.md
 */
export function readMessagesRequest(body: MessagesBody, format: FormatHeaders, hints: RequestHints): ParsedRequest {
  const { translated, native } = translateBody(body, format);
  const ignored = new IgnoredFields();
  for (const [index, message] of body.messages.entries()) {
    if (message.role === 'system') continue; // its other fields reach the native wire
    for (const field in message) if (!turnFields.has(field)) ignored.add(`messages[${index}]`, field);
  }
  for (const [index, tool] of (body.tools ?? []).entries()) {
    for (const field of listIgnoredFields(tool)) ignored.add(`tools[${index}]`, field);
  }
  const read = readTranslated(translated, ignored, hints);
  read.request.native = native;
  if (read.request.instructions === '') delete read.request.instructions;
  return read;
}

/** The fields of a turn. No endpoint gets another one, because adjacent turns of one role become one. */
const turnFields: ReadonlySet<string> = new Set(['role', 'content']);

/** @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues` */
export function checkMessagesBody(body: unknown): MessagesBody {
  const report = new Report();
  if (!isObject(body)) report.add('', `must be a JSON object, got ${show(body)}`);
  else {
    if (!isMessagesBody(body)) {
      if (body['messages'] === undefined) report.add('messages', 'is missing: send a list of messages');
      else explainIssues(messagesSchema, body, '', report);
      // A body that failed its check is rejected, even if there is no explanation.
      if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
    } else checkMessagesRules(body, report);
  }
  if (report.issues.length > 0) throw noteThread(invalidRequest(report.issues));
  return body as MessagesBody; // the schema has accepted it
}

/**
 * Adds the field that makes clients of the format send the whole conversation instead of a thread. choice 789
 *
 * @see docs/reference/messages.md#threads
 */
function noteThread(error: GatewayError): GatewayError {
  const issues = error.metadata['issues'] as Issue[]; // `invalidRequest` has added them
  if (!issues.some(({ path }) => path === 'thread')) return error;
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
  return new GatewayError('invalid_request', error.message, { metadata: { ...error.metadata, details } });
}

/** Reads the input of a checked body again. */
export function readMessagesInput(body: unknown): InputItem[] {
  dropNulls(messagesSchema, body);
  return writeMessagesInput(body as MessagesBody); // its check has passed
}

/**
 * Returns a function that replaces the paths in a text by those of the body.
 *
 * @param body parses the body again, because the translation has taken parts of it. Called at the first text
 */
export function citeBody(body: () => unknown): (text: string) => string {
  let notes: PathNotes | undefined;
  return (text) => {
    if (!notes) {
      notes = new PathNotes(messageNames);
      const again = body();
      dropNulls(messagesSchema, again);
      translateBody(again as MessagesBody, { version: undefined, betas: [] }, notes); // its check has passed
    }
    return notes.translateText(text);
  };
}

/** A body in the shape of `POST /responses`, and what only the format can say. */
export interface TranslatedMessages {
  translated: TranslatedBody;
  native: NativeRequest;
}

/**
 * Translates a checked body into the fields of the pipeline's request. Pure.
 *
 * @param notes receives the paths of the body for those of the request
 * @see docs/reference/messages.md#translation
 */
export function translateBody(body: MessagesBody, format: FormatHeaders, notes?: PathNotes): TranslatedMessages {
  const written: Record<string, unknown> = {};
  const put = (name: keyof TranslatedBody, value: unknown, from: string): void => {
    notes?.add(name, from);
    if (value !== undefined && value !== null) written[name] = value;
  };
  for (const field of sharedFields) put(field, body[field], field);
  put('model', body.model, 'model');
  if (body.fallbacks && body.fallbacks !== 'default')
    put(
      'models',
      body.fallbacks.map(({ model }) => model),
      'fallbacks',
    );
  put('cache_control', body.cache_control, 'cache_control');
  put('max_output_tokens', body.max_tokens, 'max_tokens');
  put('temperature', body.temperature, 'temperature');
  put('top_p', body.top_p, 'top_p');
  put('top_k', body.top_k, 'top_k');
  put('stop', body.stop_sequences?.length ? body.stop_sequences : undefined, 'stop_sequences');
  put('stream', body.stream, 'stream');
  put('user', body.metadata?.user_id, 'metadata.user_id');
  put('service_tier', readTier(body), body.speed === 'fast' ? 'speed' : 'service_tier');
  // Blocks are messages of the input. The empty text keeps the system prompt of a preset from joining them.
  if (body.system !== undefined && body.system !== null)
    written['instructions'] = typeof body.system === 'string' ? body.system : '';
  notes?.add('instructions', 'system');
  written['input'] = writeMessagesInput(body, notes);
  notes?.add('input', 'messages');
  const { tools, choice, isSerial, native: nativeTools } = translateTools(body, notes);
  put('tools', tools, 'tools');
  put('tool_choice', choice, 'tool_choice');
  put('parallel_tool_calls', isSerial ? false : undefined, 'tool_choice.disable_parallel_tool_use');
  const reasoning = readReasoning(body);
  put('reasoning', reasoning, 'thinking');
  notes?.add('reasoning.max_tokens', 'thinking.budget_tokens');
  notes?.add('reasoning.effort', 'output_config.effort');
  notes?.add('reasoning.summary', 'thinking.display');
  const text = readText(body);
  put('text', text, 'output_config');
  notes?.add('text.format', body.output_format ? 'output_format' : 'output_config.format');
  const fields = collectFields(body);
  if (body.tool_choice && choice === undefined) fields['tool_choice'] = body.tool_choice;
  if (body.fallbacks === 'default') fields['fallbacks'] = body.fallbacks;
  return {
    translated: written as TranslatedBody, // each field was written in its shape
    native: { format: 'anthropic-messages', fields, tools: nativeTools, ...format, replaces: { reasoning, text } },
  };
}

function readTier({ service_tier: tier, speed }: MessagesBody): string | undefined {
  if (speed === 'fast') return 'priority';
  return tier === 'standard_only' ? 'default' : (tier ?? undefined);
}

/** @see docs/reference/messages.md#reasoning */
function readReasoning({ thinking, output_config: output }: MessagesBody): ReasoningSetting | undefined {
  const effort = output?.effort ?? undefined;
  switch (thinking?.type) {
    case 'disabled':
    case 'between_tools':
      return { enabled: false };
    case 'enabled': {
      const { budget_tokens: budget } = thinking;
      if (budget !== undefined) return { max_tokens: budget, summary: 'auto' };
      return { enabled: true, summary: 'auto', ...(effort && { effort }) };
    }
    case 'adaptive':
      return { enabled: true, summary: 'auto', ...(effort && { effort }) };
    default:
      return effort ? { effort } : undefined;
  }
}

function readText({ output_config: output, output_format: older }: MessagesBody): TextSetting | undefined {
  const format = output?.format ?? older;
  if (!format) return undefined;
  return { format: { type: 'json_schema', name: 'response', schema: format.schema, strict: true } };
}

/** Fields that the request of the pipeline contains completely. */
const translated = new Set<string>([
  'messages',
  'system',
  'tools',
  'tool_choice',
  'model',
  'max_tokens',
  'stream',
  'metadata',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'cache_control',
  'fallbacks',
  'service_tier',
  'mcp_servers',
  ...sharedFields,
]);

/** Collects what only the format can say: known fields such as `thinking`, and every unknown one. */
function collectFields(body: MessagesBody): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (!translated.has(name) && value !== undefined && value !== null) fields[name] = value;
  }
  return fields;
}
