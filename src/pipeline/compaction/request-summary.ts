import { endsWithTrigger } from '../../domain/compaction.ts';
import { keepPlaces } from '../../domain/input-places.ts';
import type { InputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/** Tells a model to summarize its conversation. @see docs/reference/compaction.md#the-summary */
const instruction = `Summarize this conversation for another model, which continues it and sees nothing but your summary. Include:

1. The goals, requests and limits that the user has stated, in the user's words where the words matter.
2. Decisions and their reasons, and what was tried without success.
3. What was done and found, with exact names: files, functions, commands, errors, identifiers, numbers.
4. The present state, what remains, and the next step.

An earlier summary in the conversation is a part of it: keep what still matters. Leave out greetings, repetitions and long outputs. Call no tools. Write only the summary.`;

/**
 * Replaces the item that requests a compaction by the request for a summary, for an endpoint that makes no compactions. The
 * tools stay, because the conversation contains their calls, but the model cannot call them.
 */
export function requestSummary(request: ResponseRequest): ResponseRequest {
  if (!endsWithTrigger(request.input)) return request;
  const input: InputItem[] = request.input.with(-1, { type: 'message', role: 'user', content: instruction });
  keepPlaces(input, request.input);
  const summarized = { ...request, input };
  for (const name of ineffective) delete summarized[name];
  if (request.text) {
    const { format: _, ...style } = request.text;
    summarized.text = style;
  }
  if (request.tools && request.tools.length > 0) summarized.tool_choice = 'none';
  return summarized;
}

/** Fields that would change the summary. */
const ineffective = ['stop', 'tool_choice', 'modalities', 'standalone_compaction'] as const;
