import { efforts } from '../../domain/items.ts';
import { reasoningContexts, reasoningSummaries, type ResponseRequest, verbosities } from '../../domain/request.ts';

/** Settings that hint at the output, each with its known words. */
const hints: readonly [field: 'reasoning' | 'text', name: string, known: readonly string[]][] = [
  ['reasoning', 'effort', efforts],
  ['reasoning', 'summary', reasoningSummaries],
  ['reasoning', 'context', reasoningContexts],
  ['text', 'verbosity', verbosities],
];

/** The wire of the format of `POST /responses`. */
const OWN_WIRE = 'openai-responses';

const nothing: readonly string[] = [];

/**
 * Removes words that the gateway does not know, for an endpoint whose wire has another format than the client. A
 * provider of the client's format may know them.
 *
 * @param wire undefined: all of them are removed
 * @returns the request, and the omitted settings with their words
 * @see docs/reference/responses.md#newer-values
 */
export function leaveOutWords(
  request: ResponseRequest,
  wire: string | undefined,
): { request: ResponseRequest; dropped: readonly string[] } {
  if ((!request.reasoning && !request.text) || wire === (request.native?.format ?? OWN_WIRE)) {
    return { request, dropped: nothing };
  }
  let left = request;
  const dropped: string[] = [];
  for (const [field, name, known] of hints) {
    const setting = left[field] as Readonly<Record<string, unknown>> | null | undefined;
    const word = setting?.[name];
    if (typeof word !== 'string' || known.includes(word)) continue;
    left = { ...left, [field]: { ...setting, [name]: undefined } };
    dropped.push(`${field}.${name} (${word})`);
  }
  return { request: left, dropped };
}
