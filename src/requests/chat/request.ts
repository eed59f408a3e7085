import type { InputItem } from '../../domain/items.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { isObject } from '../../schema/by-kind.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { dropNulls } from '../../schema/drop-nulls.ts';
import { Report, show } from '../../schema/report.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import type { RequestHints } from '../request-hints.ts';
import { ignoreUnknown, type ParsedRequest, readTranslated, type TranslatedBody } from '../responses/request.ts';
import { checkChatRules } from './check-rules.ts';
import { noteUnknown } from './note-unknown.ts';
import { readMessages } from './read-messages.ts';
import { readNativeChat } from './read-native.ts';
import { hidesReasoning, readChatSettings } from './read-settings.ts';
import { readTools } from './read-tools.ts';
import { type ChatBody, chatSchema, isChatBody, knownChatFields } from './schema.ts';
import { settleHabits } from './settle-habits.ts';
import { settleNeighbors } from './settle-neighbors.ts';

/** A body of chat completions as a request, and how its response is written. */
export interface ParsedChat {
  read: ParsedRequest;
  output: ChatOutputSettings;
}

/** The fields of a body that change only how its response is written. */
export interface ChatOutputSettings {
  /** Whether a stream ends with a chunk of the usage. */
  includesUsage: boolean;
  /** Whether the response has no reasoning. */
  hidesReasoning: boolean;
  /** Whether the response has one `function_call`, as in the older format. */
  hasLegacyCalls: boolean;
}

/**
 * Translates a body into the request that the pipeline serves.
 *
 * @param body from `checkChatBody`
 * @throws {GatewayError} `invalid_request`. The fields have the names of `POST /responses`: see `name-fields.ts`
 * @see docs/reference/chat-completions.md
 */
export function readChat(body: ChatBody, hints: RequestHints): ParsedChat {
  const ignored = new IgnoredFields();
  ignoreUnknown(body, knownChatFields, '', ignored);
  const hasUnknownParts = noteUnknown(body.messages, ignored);
  const translated = translateChat(body, (path, field) => ignored.add(path, field));
  const native = readNativeChat(body, translated, hasUnknownParts);
  if (native) translated.native = native;
  return { read: readTranslated(translated, ignored, hints), output: readOutputSettings(body) };
}

/**
 * Checks the shape of a `POST /chat/completions` body.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`
 */
export function checkChatBody(body: unknown): ChatBody {
  const report = new Report();
  if (!isObject(body)) report.add('', `must be a JSON object, got ${show(body)}`);
  else {
    settleHabits(body);
    if (!isChatBody(body)) settleNeighbors(body);
    if (!isChatBody(body)) {
      if (body['messages'] === undefined) report.add('messages', explainMissing(body));
      else explainIssues(chatSchema, body, '', report);
      // A body that failed its check is rejected, even if there is no explanation.
      if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
    }
    checkChatRules(body, report);
  }
  if (report.issues.length > 0) throw invalidRequest(report.issues);
  return body as ChatBody; // the schema has accepted it
}

function explainMissing({ input }: Record<string, unknown>): string {
  const hint = input === undefined ? '' : '; a body with `input` belongs to POST /responses';
  return `is missing: send a list of messages${hint}`;
}

/** Translates a checked body. @param onIgnored called for a field that has no place in the request */
export function translateChat(body: ChatBody, onIgnored?: (path: string, field: string) => void): TranslatedBody {
  const translated: TranslatedBody = {};
  readChatSettings(body, translated);
  const { max_completion_tokens: limit, modalities, prediction, top_logprobs: top } = body;
  if (limit) translated.max_output_tokens = limit;
  if (modalities) translated.modalities = modalities;
  if (prediction) translated.prediction = prediction;
  if (body.logprobs) translated.logprobs = true;
  if (top) translated.top_logprobs = top;
  readTools(body, translated);
  const items = readMessages(body.messages, onIgnored && { onIgnored });
  translated.input = items as NonNullable<Exclude<TranslatedBody['input'], string>>; // `read-messages.ts` makes checked items
  return translated;
}

const readOutputSettings = (body: ChatBody): ChatOutputSettings => ({
  includesUsage: body.stream_options?.include_usage === true || body.usage?.include === true,
  hidesReasoning: hidesReasoning(body),
  hasLegacyCalls: !!body.functions?.length && !body.tools?.length,
});

/** Reads the items of a body that `readChat` has accepted again. */
export function readChatItems(body: unknown): InputItem[] {
  settleHabits(body as Record<string, unknown>); // it was checked
  settleNeighbors(body as Record<string, unknown>);
  dropNulls(chatSchema, body);
  return readMessages((body as ChatBody).messages); // it was checked
}
