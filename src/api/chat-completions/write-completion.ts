import type { OutputItem, ReasoningItem } from '../../domain/items.ts';
import { type ReasoningDetail, writeReasoningDetails } from '../../domain/reasoning-details.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { ChatFacts } from './chat-facts.ts';
import {
  addChatAnnotation,
  type ChatAnnotations,
  type CompletionCall,
  findCallId,
  findImageUrl,
  isClientCall,
  TEXT_GAP,
  partsOfItem,
  writeChatUsage,
  writeEnding,
  writeFinishReason,
  writeImage,
  writeToolCall,
} from './write-parts.ts';

/** The message of a completion. */
export interface CompletionMessage extends ChatAnnotations {
  role: 'assistant';
  content: string | null;
  refusal: string | null;
  reasoning?: string;
  reasoning_details?: ReasoningDetail[];
  tool_calls?: CompletionCall[];
  function_call?: unknown;
  images?: object[];
}

/** Writes a response as a whole chat completion. @see docs/reference/chat-completions.md#response */
export function writeCompletion(response: ResponseObject, facts: ChatFacts): object {
  const { message, logprobs } = writeMessage(response.output, facts);
  return {
    id: facts.id,
    object: 'chat.completion',
    created: facts.created,
    model: response.model,
    provider: facts.findProvider(),
    system_fingerprint: null, // clients of this format require it
    choices: [
      {
        index: 0,
        message,
        logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
        finish_reason: writeFinishReason(response, facts.hasLegacyCalls),
        native_finish_reason: facts.findNativeReason() ?? null,
      },
    ],
    ...(response.usage && { usage: writeChatUsage(response.usage) }),
    ...writeEnding(response, facts),
  };
}

type MessageSettings = Pick<ChatFacts, 'hidesReasoning' | 'hasLegacyCalls'>;

function writeMessage(
  output: readonly OutputItem[],
  { hidesReasoning, hasLegacyCalls }: MessageSettings,
): { message: CompletionMessage; logprobs: unknown[] } {
  const message: CompletionMessage = { role: 'assistant', content: null, refusal: null };
  const logprobs: unknown[] = [];
  let hasOther = false;
  for (const [index, item] of output.entries()) {
    if (item.type === 'reasoning') {
      const before = hasOther ? findCallId(output[index + 1]) : undefined;
      if (!hidesReasoning) addReasoning(message, item as unknown as ReasoningItem, before); // the builder wrote it
      continue;
    }
    hasOther = true;
    if (item.type === 'message') addMessage(message, item, logprobs);
    else if (isClientCall(item)) addCall(message, writeToolCall(item, output[index - 1]), hasLegacyCalls);
    else addImage(message, item);
  }
  return { message, logprobs };
}

function addMessage(message: CompletionMessage, item: OutputItem, logprobs: unknown[]): void {
  let isFirst = true;
  for (const part of partsOfItem(item, 'content')) {
    if (part['type'] === 'refusal') message.refusal = `${message.refusal ?? ''}${String(part['refusal'])}`;
    if (part['type'] !== 'output_text') continue;
    const text = String(part['text']);
    const gap = isFirst && message.content && text !== '' ? TEXT_GAP : '';
    isFirst &&= text === '';
    const before = (message.content ?? '') + gap;
    message.content = before + text;
    const { annotations, logprobs: tokens } = part;
    for (const annotation of Array.isArray(annotations) ? annotations : []) {
      addChatAnnotation(message, annotation, before.length);
    }
    if (Array.isArray(tokens)) for (const token of tokens) logprobs.push(token);
  }
}

function addReasoning(message: CompletionMessage, item: ReasoningItem, before: string | undefined): void {
  const details = writeReasoningDetails(item, message.reasoning_details?.length ?? 0, before);
  if (details.length === 0) return;
  message.reasoning_details ??= [];
  for (const detail of details) message.reasoning_details.push(detail);
  for (const { text: plain, summary } of details) {
    const text = plain ?? summary ?? '';
    if (text !== '') message.reasoning = message.reasoning ? message.reasoning + TEXT_GAP + text : text;
  }
}

function addCall(message: CompletionMessage, call: CompletionCall, hasLegacyCalls: boolean): void {
  if (hasLegacyCalls && call['type'] === 'function' && !message.function_call && !message.tool_calls) {
    message.function_call = call['function'];
  } else {
    message.tool_calls ??= [];
    message.tool_calls.push(call);
  }
}

function addImage(message: CompletionMessage, item: OutputItem): void {
  const url = findImageUrl(item);
  if (url === undefined) return;
  message.images ??= [];
  message.images.push(writeImage(url, message.images.length));
}
