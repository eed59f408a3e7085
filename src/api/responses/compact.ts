import { SUMMARY_HEADING, TRIGGER } from '../../domain/compaction.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { createId } from '../../domain/ids.ts';
import type { InputItem, MessageItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { Route } from '../../http/routes.ts';
import { EventWriter } from '../../http/sse.ts';
import { readInputAgain } from '../../requests/responses/request.ts';
import { Needs } from '../../routing/needs.ts';
import { isObject } from '../../schema/by-kind.ts';
import { type AcceptedText, createTextHandler, type TextParts } from '../serve-text.ts';
import { acceptRequest } from './accept-request.ts';

/** `POST /responses/compact`: the window that replaces a conversation. @see docs/reference/compaction.md */
export const createCompactHandler = (parts: TextParts): Route['handler'] =>
  createTextHandler(parts, ({ body }, hints): AcceptedText => {
    const read = acceptRequest(addTrigger(body), hints);
    if (read.request.stream) throw invalidRequest([{ path: 'stream', message: 'A compaction is not streamed.' }]);
    read.request.standalone_compaction = true;
    const { hasLateTools } = read;
    const { openSummary } = hints;
    return {
      read,
      readItems: (again) => readInputAgain(addTrigger(again), { hasLateTools, openSummary }),
      openFormat: () => new EventWriter(),
      writeWhole: (response, run) => JSON.stringify(writeWindow(response, run.input.readGiven())),
    };
  });

/** Ends the input with the item that requests a compaction, unless it does so already. Changes the body. */
function addTrigger(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { input } = body;
  const items = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : (input ?? []);
  if (!Array.isArray(items)) return body; // a later check rejects it
  const last: unknown = items.at(-1);
  body['input'] = isObject(last) && last['type'] === TRIGGER ? items : [...items, { type: TRIGGER }];
  return body;
}

/** Writes the user's messages and the compaction of everything else. */
const writeWindow = (
  { id, created_at, model, output, usage, router_metadata }: ResponseObject,
  input: readonly InputItem[],
): object => ({
  id,
  object: 'response.compaction',
  created_at,
  model,
  output: [...keepMessages(input), ...output],
  usage,
  ...(router_metadata && { router_metadata }),
});

/** Estimated tokens of the messages that stay. The summary contains the others. choice 803 */
const MAX_KEPT_TOKENS = 64_000;

/** Returns the newest messages of the user, as items of an output. */
function keepMessages(input: readonly InputItem[]): object[] {
  const kept: object[] = [];
  let left = MAX_KEPT_TOKENS;
  for (const item of input.toReversed()) {
    if (!isUsers(item)) continue;
    left -= new Needs({ input: [item] }).requiredTokens;
    if (left < 0) break;
    const { content } = item;
    const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : (content ?? []);
    kept.unshift({ ...item, id: item.id ?? createId('msg_'), status: 'completed', content: parts });
  }
  return kept;
}

const isUsers = (item: InputItem): item is MessageItem => {
  if (item.type !== 'message') return false;
  const { role, content } = item as MessageItem;
  return role === 'user' && !(typeof content === 'string' && content.startsWith(SUMMARY_HEADING));
};
