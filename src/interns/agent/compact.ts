import type { Item } from './call-model.ts';

/** Characters of a conversation that are sent at most: about 60,000 tokens. */
export const MAX_CONTEXT = 240_000;
/** Characters of the latest items that stay as they are. */
const KEPT = 80_000;
/** Characters of the earlier items from which a summary is made. */
const MAX_SUMMARIZED = 200_000;
const MAX_SUMMARY = 16_000;

export const SUMMARY_PROMPT =
  'Summarize the conversation above for yourself, because it will be removed: what the person wants, decisions, facts, names and paths of files, results of commands, and what is still to do. Write only the summary.';

export const measureItems = (items: readonly Item[]): number =>
  items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);

/**
 * Splits a conversation that is too long. The second part begins with a message of the person if one is late enough, and
 * never with the result of a call.
 *
 * @returns undefined if it is short enough
 */
export function splitConversation(items: readonly Item[]): { earlier: Item[]; latest: Item[] } | undefined {
  if (measureItems(items) <= MAX_CONTEXT) return undefined;
  let size = 0;
  let at = items.length;
  while (at > 0 && size + JSON.stringify(items[at - 1]).length <= KEPT) size += JSON.stringify(items[--at]).length;
  const message = items.findIndex((item, index) => index >= at && item.role === 'user');
  let start = message >= 0 ? message : at;
  const isSafe = (index: number): boolean => {
    const before = items[index - 1]?.type;
    return items[index]?.type !== 'function_call_output' && before !== 'function_call' && before !== 'reasoning';
  };
  while (start < items.length && !isSafe(start)) start++;
  return { earlier: items.slice(0, start), latest: items.slice(start) };
}

/** The earlier items as a text for the model, the latest part of it. */
export function describeItems(items: readonly Item[]): string {
  const text = items
    .map(({ type, role, content, name, arguments: sent, output }) => {
      if (type === 'function_call') return `call ${name}: ${sent}`;
      if (type === 'function_call_output')
        return `result: ${typeof output === 'string' ? output : JSON.stringify(output)}`;
      return role === undefined ? '' : `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`;
    })
    .filter((line) => line !== '')
    .join('\n');
  return text.slice(-MAX_SUMMARIZED);
}

/** The item that replaces the earlier ones. */
export const writeSummary = (summary: string): Item => ({
  type: 'message',
  role: 'user',
  content: `Summary of the earlier conversation, which was removed:\n${summary.slice(0, MAX_SUMMARY)}`,
});
