import type {
  AgentMessageItem,
  FunctionCallItem,
  InputItem,
  ReasoningEffort,
  ReasoningItem,
  Tool,
} from '../../domain/items.ts';
import { type Draft, dropUnknown, refuseKind, refuseReference } from './draft.ts';

/*
 * What wires without items of their own have in common for the items of a caller.
 */

/**
 * Fields of items that such a wire reads, or that mean nothing to a provider without a store (ids, states). They are not
 * named. Every other field is named as left out.
 */
export const itemFields = {
  message: new Set(['type', 'id', 'role', 'content', 'status', 'model']),
  reasoning: new Set(['type', 'id', 'summary', 'content', 'encrypted_content', 'format', 'signature', 'status']),
  call: new Set(['type', 'id', 'call_id', 'name', 'arguments', 'input', 'namespace', 'status']),
  output: new Set(['type', 'id', 'call_id', 'output', 'status']),
  agentMessage: new Set(['type', 'id', 'author', 'recipient', 'content']),
  additionalTools: new Set(['type', 'id', 'role', 'tools']),
  configurationUpdate: new Set(['type', 'id', 'reasoning']),
  image: new Set(['type', 'id', 'status', 'result', 'url']),
} as const;

/** Returns the heading of a message between agents, which is sent as one of the user. */
export const agentHeading = ({ author, recipient }: AgentMessageItem): string =>
  `[Message from ${author} to ${recipient}]`;

/** Returns the text that a signature seals, exactly as it was received: raw reasoning, or else its summary. */
export function readReasoningText({ content, summary }: ReasoningItem): string {
  const parts = content && content.length > 0 ? content : (summary ?? []);
  return parts.map(({ text }) => text).join('');
}

/**
 * The arguments of a replayed call, for protocols that take an object alone. A model that wrote something else must
 * still see what it wrote.
 */
export function readArguments(draft: Draft, { arguments: text }: FunctionCallItem, place: () => string): object {
  if (text === '') return {};
  const value = readObject(text);
  if (value) return value;
  draft.dropped.push(`${place()}.arguments (not a JSON object; sent as text)`);
  return { arguments: text };
}

/** @returns undefined when the text is no JSON object */
export function readObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What control items change elsewhere in the request. */
export interface Control {
  /** Tools of `additional_tools` items, each list with its path. */
  readonly additionalTools: { tools: readonly Tool[]; path: string }[];
  /** The effort of the last `configuration_update`. */
  effort?: ReasoningEffort | undefined;
}

/**
 * Writes control items. Of those that such a wire has no place for, the ones go that the rest of the conversation can do
 * without.
 *
 * @throws {GatewayError} for an item without which the conversation would mean something else
 */
export function writeOtherItem(draft: Draft, control: Control, item: InputItem, place: () => string): void {
  switch (item.type) {
    case 'additional_tools':
      dropUnknown(draft, item, itemFields.additionalTools, place);
      control.additionalTools.push({ tools: item.tools as Tool[], path: `${place()}.tools` }); // as the checks left them
      return;
    case 'configuration_update':
      dropUnknown(draft, item, itemFields.configurationUpdate, place);
      control.effort = (item.reasoning as { effort: ReasoningEffort }).effort; // the same
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
