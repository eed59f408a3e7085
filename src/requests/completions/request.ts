import { invalidRequest } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';
import { isObject } from '../../schema/by-kind.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import { hidesReasoning, readChatSettings } from '../chat/read-settings.ts';
import type { ParsedChat } from '../chat/request.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import type { RenameFields } from '../rename-fields.ts';
import type { RequestHints } from '../request-hints.ts';
import { ignoreUnknown, readTranslated, type TranslatedBody } from '../responses/request.ts';
import { type CompletionBody, completionSchema, isCompletionBody, knownCompletionFields } from './schema.ts';

/**
 * Checks the shape of a `POST /completions` body.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`
 */
export function checkCompletionBody(body: unknown): CompletionBody {
  if (isCompletionBody(body)) return body;
  const report = new Report();
  if (!isObject(body)) report.add('', `must be a JSON object, got ${show(body)}`);
  else if (body['prompt'] === undefined) {
    const hint = body['messages'] === undefined ? '' : '; a body with `messages` belongs to POST /chat/completions';
    report.add('prompt', `is missing: send a text${hint}`);
  } else explainIssues(completionSchema, body, '', report);
  // A body that failed its check is rejected, even if there is no explanation.
  if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
  throw invalidRequest(report.issues);
}

/**
 * Translates a body into the request that the pipeline serves: the prompt is one message of the user.
 *
 * @param body from `checkCompletionBody`
 * @throws {GatewayError} `invalid_request`. The fields have the names of `POST /responses`: see `renameForCompletion`
 * @see docs/reference/completions.md
 */
export function readCompletion(body: CompletionBody, hints: RequestHints): ParsedChat {
  const ignored = new IgnoredFields();
  ignoreUnknown(body, knownCompletionFields, '', ignored);
  const translated: TranslatedBody = {};
  readChatSettings(body, translated);
  if (typeof body.logprobs === 'number') translated.logprobs = true;
  if (body.logprobs) translated.top_logprobs = body.logprobs;
  translated.input = readPrompt(body) as NonNullable<Exclude<TranslatedBody['input'], string>>; // one message
  return {
    read: readTranslated(translated, ignored, hints),
    output: {
      includesUsage: body.stream_options?.include_usage === true || body.usage?.include === true,
      hidesReasoning: hidesReasoning(body),
      hasLegacyCalls: false,
    },
  };
}

/** Reads the items of a body that `readCompletion` has accepted. */
export const readPrompt = ({ prompt }: Pick<CompletionBody, 'prompt'>): InputItem[] => [
  { type: 'message', role: 'user', content: typeof prompt === 'string' ? prompt : prompt[0]! },
];

/** Turns the fields of `POST /responses` in a text into those of the older completions. */
export const renameForCompletion: RenameFields = (text) =>
  text
    .replace(/\binput\[0\]\.content\b|^input(?=:|$)|(?<=`)input(?=`)/g, 'prompt')
    .replace(/\bmax_output_tokens\b/g, 'max_tokens')
    .replace(/\btext\.format\b/g, 'response_format')
    .replace(/\btext\.verbosity\b/g, 'verbosity');
