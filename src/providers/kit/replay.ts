import {
  type AgentMessageItem,
  findEffort,
  type FunctionCallItem,
  type InputItem,
  isEffort,
  type ReasoningEffort,
  type ReasoningItem,
  type Tool,
} from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { type Draft, dropUnknown, refuseKind, refuseReference } from './draft.ts';

/*
 * Shared functions for the caller's items, for wires without items of their own.
 */

/**
 * Fields of items that such a wire reads, or that have no meaning for a provider without a store (ids, states). They
 * are not added to `dropped`. Every other field is.
 */
export const itemFields = {
  message: new Set(['type', 'id', 'role', 'content', 'status', 'model']),
  reasoning: new Set(['type', 'id', 'summary', 'content', 'encrypted_content', 'format', 'signature', 'status']),
  call: new Set(['type', 'id', 'call_id', 'name', 'arguments', 'input', 'namespace', 'status', 'async']),
  output: new Set(['type', 'id', 'call_id', 'output', 'status']),
  agentMessage: new Set(['type', 'id', 'author', 'recipient', 'content']),
  additionalTools: new Set(['type', 'id', 'role', 'tools']),
  configurationUpdate: new Set(['type', 'id', 'reasoning']),
  image: new Set(['type', 'id', 'status', 'result', 'url']),
} as const;

/** Returns the heading of a message between agents, which is sent as a user message. */
export const agentHeading = ({ author, recipient }: AgentMessageItem): string =>
  `[Message from ${author} to ${recipient}]`;

/** Returns the text that a signature seals, exactly as received: raw reasoning, or the summary if there is none. */
export function readReasoningText({ content, summary }: ReasoningItem): string {
  const parts = content && content.length > 0 ? content : (summary ?? []);
  return parts.map(({ text }) => text).join('');
}

/**
 * Returns the arguments of a replayed call, for protocols that accept only an object. If the model wrote other text,
 * the object contains that text, so that the model still sees it.
 */
export function readArguments(draft: Draft, { arguments: text }: FunctionCallItem, place: () => string): object {
  if (text === '') return {};
  const value = parseObject(text, 'arguments');
  if (value) return value;
  draft.dropped.push(`${place()}.arguments (not a JSON object; sent as text)`);
  return { arguments: text };
}

/** The changes of control items to other fields of the request. */
export interface Control {
  /** Tools of `additional_tools` items, each list with its path. */
  readonly additionalTools: { tools: readonly Tool[]; path: string }[];
  /** The effort of the last `configuration_update`. */
  effort?: ReasoningEffort | undefined;
}

/** @returns undefined for an effort that the gateway does not know */
function readUpdate(draft: Draft, effort: string, place: () => string): ReasoningEffort | undefined {
  if (!isEffort(effort)) draft.dropped.push(`${place()}.reasoning.effort (${effort})`);
  return findEffort(effort);
}

/**
 * Writes control items. Drops control items that the wire cannot express and that do not change the meaning.
 *
 * @throws {GatewayError} for an item whose omission would change the meaning of the conversation
 */
export function writeOtherItem(draft: Draft, control: Control, item: InputItem, place: () => string): void {
  switch (item.type) {
    case 'additional_tools':
      dropUnknown(draft, item, itemFields.additionalTools, place);
      control.additionalTools.push({ tools: item.tools as Tool[], path: `${place()}.tools` }); // validated before
      return;
    case 'configuration_update':
      dropUnknown(draft, item, itemFields.configurationUpdate, place);
      control.effort = readUpdate(draft, (item.reasoning as { effort: string }).effort, place) ?? control.effort; // validated before
      return;
    case 'compaction':
    case 'context_compaction': // only the provider that made it can read it
    case 'web_search_call': // the text contains the result; the item has no pages
      draft.dropped.push(`${place()} (${item.type})`);
      return;
    case 'item_reference':
      throw refuseReference(draft, place(), item.id);
    default:
      // The output that followed contains the results of the gateway's own tools.
      if (!item.type.startsWith('router:')) throw refuseKind(draft, place(), 'item', item.type);
      draft.dropped.push(`${place()} (${item.type})`);
  }
}
