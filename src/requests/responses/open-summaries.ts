import { findSealedSummary, SUMMARY_HEADING } from '../../domain/compaction.ts';
import { invalidRequest, type Issue } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';

/** @returns undefined if the summary cannot be opened */
export type OpenSummary = (sealed: string) => string | undefined;

/**
 * Replaces sealed summaries by messages, before anything inspects or counts the input.
 *
 * @returns the same list if there are none
 * @throws {GatewayError} `invalid_request` for a summary that cannot be opened
 */
export function openSummaries(input: InputItem[], open: OpenSummary): InputItem[] {
  if (!input.some((item) => findSealedSummary(item) !== undefined)) return input;
  const issues: Issue[] = [];
  const opened = input.map((item, index): InputItem => {
    const sealed = findSealedSummary(item);
    if (sealed === undefined) return item;
    const summary = open(sealed);
    if (summary !== undefined) return { type: 'message', role: 'user', content: SUMMARY_HEADING + summary }; // choice 802
    issues.push({ path: `input[${index}].encrypted_content`, message });
    return item;
  });
  if (issues.length > 0) throw invalidRequest(issues);
  return opened;
}

const message =
  'The compaction cannot be opened: it was changed or cut off, or comes from another workspace or gateway. Send it as you received it, or leave the item out.';
