import { isEffort } from '../../domain/items.ts';
import { isNativePart, NATIVE_FIELD, type NativeRequest } from '../../domain/native.ts';
import { reasoningSummaries, verbosities } from '../../domain/request.ts';
import type { TranslatedBody } from '../responses/request.ts';
import { isKnownChoice } from './read-tools.ts';
import type { ChatBody } from './schema.ts';

/**
 * Reads what only the format can say about a request.
 *
 * @param hasUnknownParts whether the messages have parts of unknown kinds
 * @returns undefined if there is nothing, as in nearly every body
 * @see docs/reference/chat-completions.md#newer-values
 */
export function readNativeChat(
  { tool_choice: choice }: ChatBody,
  { tools = [], reasoning, text }: TranslatedBody,
  hasUnknownParts: boolean,
): NativeRequest | undefined {
  const isNewChoice =
    typeof choice === 'object' && choice !== null && !ownChoices.has(choice.type) && !isKnownChoice(choice);
  const isNeeded =
    hasUnknownParts ||
    isNewChoice ||
    tools.some((tool) => NATIVE_FIELD in tool || isNativePart(tool)) ||
    (reasoning?.effort && !isEffort(reasoning.effort)) ||
    isNew(reasoning?.summary, reasoningSummaries) ||
    isNew(text?.verbosity, verbosities);
  if (!isNeeded) return undefined;
  const fields = isNewChoice ? { tool_choice: choice } : {};
  return { format: 'openai-chat', fields, tools: {}, version: undefined, betas: [], replaces: {} };
}

/** The choices that have a form of their own in this format. */
const ownChoices: ReadonlySet<string> = new Set(['function', 'custom', 'allowed_tools']);

const isNew = (word: string | null | undefined, known: readonly string[]): boolean =>
  typeof word === 'string' && !known.includes(word);
