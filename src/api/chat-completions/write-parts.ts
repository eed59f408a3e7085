import { type RenameFields, renameMetadata } from '../../requests/rename-fields.ts';
import { isObject } from '../../schema/by-kind.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { WireUsage } from '../../domain/usage.ts';
import { signatureFormat } from '../../domain/thought-signature.ts';
import { readGeneratedImage } from '../../domain/generated-image.ts';

/*
 * Parts of chat completions that a chunk and a whole completion have in common.
 */

/** Separates the texts of two messages of one response, which become one text. choice 606 */
export const TEXT_GAP = '\n\n';

export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [field: string]: unknown;
}

/** @see docs/reference/chat-completions.md#usage */
export function writeChatUsage(usage: WireUsage): ChatUsage {
  const { input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details, ...rest } = usage;
  const { cost_details: costs } = rest;
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    prompt_tokens_details: input_tokens_details,
    completion_tokens_details: output_tokens_details,
    ...rest,
    ...(costs && { cost_details: writeCostDetails(costs) }),
  };
}

function writeCostDetails(costs: NonNullable<WireUsage['cost_details']>): Record<string, number> {
  const { upstream_inference_input_cost: input, upstream_inference_output_cost: output, ...rest } = costs;
  return { upstream_inference_prompt_cost: input, upstream_inference_completions_cost: output, ...rest };
}

/** Writes the fields behind the choices. They are absent, not null, if there is nothing to say. */
export const writeEnding = (
  { service_tier: tier, router_metadata: metadata }: ResponseObject,
  { rename }: { rename: RenameFields },
): Record<string, unknown> => ({
  ...(tier !== null && { service_tier: tier }),
  ...(metadata && { router_metadata: renameMetadata(metadata, rename) }),
});

export type ChatFinishReason = 'stop' | 'tool_calls' | 'function_call' | 'length' | 'content_filter' | 'error';

/** Returns the end of a response in the words of chat completions. */
export function writeFinishReason(response: ResponseObject, hasLegacyCalls: boolean): ChatFinishReason {
  if (response.status === 'failed') return 'error';
  if (response.status === 'incomplete') {
    return response.incomplete_details?.reason === 'content_filter' ? 'content_filter' : 'length';
  }
  if (!response.output.some(isClientCall)) return 'stop';
  return hasLegacyCalls ? 'function_call' : 'tool_calls';
}

/** Whether the client must run the call. */
export const isClientCall = ({ type }: OutputItem): boolean => type === 'function_call' || type === 'custom_tool_call';

/** Returns the id of a call that the client must run; undefined for any other item. */
export const findCallId = (item: OutputItem | undefined): string | undefined =>
  item && isClientCall(item) ? (item['call_id'] as string) : undefined; // every call has one

export type CompletionCall = Record<string, unknown>;

/**
 * Writes a call as a tool call, complete or at its beginning.
 *
 * @param before the item before it. A signature of Gemini is on the call, too, where Google's own API for this format has
 *   it: https://github.com/intrafind/ihub-apps/pull/2240
 */
export function writeToolCall(item: OutputItem, before: OutputItem | undefined): CompletionCall {
  const { call_id: id, name } = item;
  if (item.type === 'custom_tool_call') return { id, type: 'custom', custom: { name, input: item['input'] } };
  const call = { id, type: 'function', function: { name, arguments: item['arguments'] } };
  const signature = before?.type === 'reasoning' && before['format'] === signatureFormat && before['encrypted_content'];
  return signature ? { ...call, extra_content: { google: { thought_signature: signature } } } : call;
}

/** Lists for the annotations of a message. Clients accept only citations of URLs in `annotations`. choice 607 */
export interface ChatAnnotations {
  annotations?: object[];
  file_annotations?: object[];
}

/**
 * Adds an annotation in the shape of chat completions.
 *
 * @param offset the position of its text in the text of the message
 */
export function addChatAnnotation(lists: ChatAnnotations, annotation: Record<string, unknown>, offset: number): void {
  const { type, ...fields } = annotation;
  if (type !== 'url_citation') {
    lists.file_annotations ??= [];
    lists.file_annotations.push(annotation);
    return;
  }
  const { start_index: start, end_index: end, ...rest } = fields;
  lists.annotations ??= [];
  lists.annotations.push({
    type,
    url_citation: { ...rest, start_index: shift(start, offset), end_index: shift(end, offset) },
  });
}

/** Both positions of a citation that marks no text are 0. */
const shift = (position: unknown, offset: number): unknown =>
  typeof position === 'number' && position > 0 ? position + offset : position;

/** Returns the URL of the image that an item contains; undefined if it contains none. */
export function findImageUrl(item: OutputItem): string | undefined {
  if (item.type !== 'image_generation_call' && item.type !== 'router:image_generation') return undefined;
  const { imageUrl, url } = item;
  if (typeof imageUrl === 'string') return imageUrl;
  const image = readGeneratedImage(item);
  if (image) return `data:${image.mediaType};base64,${image.data}`;
  return typeof url === 'string' ? url : undefined;
}

export const writeImage = (url: string, index: number): object => ({ type: 'image_url', image_url: { url }, index });

/** The entries of a list of an item that are objects. */
export const partsOfItem = (item: OutputItem, field: 'content' | 'summary'): Record<string, unknown>[] => {
  const parts = item[field];
  return Array.isArray(parts) ? parts.filter(isObject) : [];
};

/** Writes fields behind the others of an object, and closes the object. */
export function appendFields(fields: object): string {
  const json = JSON.stringify(fields);
  return json === '{}' ? json.slice(1) : `,${json.slice(1)}`;
}
