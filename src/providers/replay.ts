import type { AgentMessageItem, FunctionCallItem } from '../domain/items.ts';
import type { Draft } from './draft.ts';

/*
 * What the wires without items of their own make alike of items that a caller sends back.
 */

/**
 * Fields of items that such a wire reads, or that say nothing to a provider that keeps nothing (ids, states): they go
 * without a name. Every other field is named as left out.
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

/** What stands before a message between agents, which the user then says. */
export const agentHeading = ({ author, recipient }: AgentMessageItem): string =>
  `[Message from ${author} to ${recipient}]`;

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
