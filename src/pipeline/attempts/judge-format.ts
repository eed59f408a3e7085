import type { Chunk } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { listTexts, replaceTexts } from '../../domain/message-texts.ts';
import type { TextAttempt } from '../run/attempt.ts';
import type { PoorEnd } from '../run/run-kind.ts';

/** Whether the provider does not get the format of a request, or only a part of its schema. */
export const losesFormat = (dropped: readonly string[]): boolean =>
  dropped.some((field) => /^text\.format(?: \(|\.schema|$)/.test(field));

/**
 * Repairs and checks the JSON of a response whose format the provider does not enforce.
 *
 * @param held the whole response, in which texts are replaced
 * @returns undefined if it matches the format
 * @see docs/reference/routing.md#formats-in-words
 */
export function judgeFormat(attempt: TextAttempt, held: Chunk[]): MaybePromise<PoorEnd | undefined> {
  return attempt.checkFormat ? checkTexts(attempt, held, attempt.checkFormat) : undefined;
}

async function checkTexts(
  attempt: TextAttempt,
  held: Chunk[],
  check: NonNullable<TextAttempt['checkFormat']>,
): Promise<PoorEnd | undefined> {
  const texts = [...listTexts(held)];
  const checked = await Promise.all(texts.map(check));
  const repaired = new Map<string, string>();
  for (const [index, { text }] of checked.entries()) if (text !== texts[index]) repaired.set(texts[index]!, text);
  if (repaired.size > 0) {
    held.splice(0, held.length, ...replaceTexts(held, repaired));
    attempt.adapted = [...attempt.adapted, 'the JSON of the response'];
  }
  if (checked.every(({ matches }) => matches)) return undefined;
  attempt.droppedFields = [...attempt.droppedFields, 'text.format (the response does not match it)'];
  const { name } = attempt.endpoint.provider;
  const failure = new GatewayError(
    'upstream_failed',
    `${name} does not enforce text.format, and its response does not match it.`,
    { retryable: true },
  );
  return { failure, isAnswer: true };
}
