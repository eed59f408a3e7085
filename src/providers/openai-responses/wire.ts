import type { ReportedSettings } from '../../domain/chunks.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { OutputItem } from '../../domain/items.ts';
import { completeCounts, readCount, readUpstreamCost, special, type Usage, usage } from '../../domain/usage.ts';
import { invalidUpstreamData, parseUpstream } from '../kit/invalid-data.ts';

/** An event as received. Only fields that the gateway reads are listed, and each may be missing. */
export interface WireEvent {
  type: string;
  output_index?: unknown;
  item_id?: unknown;
  summary_index?: unknown;
  delta?: unknown;
  logprobs?: unknown;
  annotation?: unknown;
  item?: unknown;
  part?: unknown;
  response?: unknown;
  error?: unknown;
  [field: string]: unknown;
}

/** A response object as received. */
export type WireResponse = Record<string, unknown>;

/**
 * Parses an event. Some servers send its type only in the `event:` line.
 *
 * @throws {GatewayError} `upstream_failed` if the data is not a JSON object
 */
export function readWire(data: string, eventName: string): WireEvent {
  const event = parseUpstream(data);
  if (!isRecord(event)) throw unexpectedUpstreamData('a stream event that is not an object');
  if (typeof event.type !== 'string') event.type = eventName;
  return event as WireEvent; // `type` is text, and the other fields are unknown
}

/** @throws {GatewayError} `upstream_failed` if the event has no such text */
export function readDelta(event: WireEvent): string {
  if (typeof event.delta !== 'string') throw unexpectedUpstreamData(`${event.type} without its delta`);
  return event.delta;
}

/**
 * @returns the item itself; a copy if it has no type (then it is a message), an empty id (`null`, `""`), no list of
 *   parts, or is a call whose arguments are not text, or without a `call_id`
 * @throws {GatewayError} `upstream_failed` if it is not an item
 */
export function readItem(item: unknown): OutputItem {
  if (!isRecord(item)) throw unexpectedUpstreamData('an output item that is not an object');
  const { id, type } = item;
  const hasId = typeof id === 'string' && id !== '';
  // Both fields have these types.
  if (typeof type === 'string' && (hasId || id === undefined)) return repairItem(item as OutputItem);
  return repairItem({ ...item, type: typeof type === 'string' ? type : 'message', id: hasId ? id : undefined });
}

/** Repairs an item. Clients iterate over the lists, and some providers send null or text instead. */
function repairItem(item: OutputItem): OutputItem {
  const { type, content, summary } = item;
  if (type === 'message' && !Array.isArray(content)) {
    const parts = typeof content === 'string' && content !== '' ? [{ type: 'output_text', text: content }] : [];
    return { ...item, role: 'assistant', content: parts };
  }
  if (type === 'message' && item['role'] !== 'assistant') return { ...item, role: 'assistant' };
  if (type === 'reasoning' && !Array.isArray(summary)) return { ...item, summary: [] };
  return mendCall(item);
}

/** Repairs a call. Clients parse the arguments, and send outputs to `call_id`. */
function mendCall(item: OutputItem): OutputItem {
  const field = callTexts.get(item.type);
  if (field === undefined) return item;
  const { [field]: text, call_id: callId } = item;
  const isCalled = (typeof callId === 'string' && callId !== '') || item.id === undefined;
  const isText = typeof text === 'string' || text === undefined;
  if (isCalled && isText) return item;
  return {
    ...item,
    ...(!isCalled && { call_id: item.id }),
    ...(!isText && { [field]: text === null ? '' : JSON.stringify(text) }),
  };
}

/** Call types whose text arrives in pieces → the field of the text. */
const callTexts = new Map([
  ['function_call', 'arguments'],
  ['custom_tool_call', 'input'],
]);

/**
 * @param response may report the actions of the provider's own tools
 * @param searches the number of searches that it reported as items
 * @returns undefined if the provider reported no counts
 */
export function readUsage({ usage: counts, tool_usage: tools }: WireResponse, searches: number): Usage | undefined {
  if (!isRecord(counts)) return undefined;
  const input = readCount(counts.input_tokens);
  const output = readCount(counts.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const total = readCount(counts.total_tokens);
  const inputDetails = readRecord(counts.input_tokens_details);
  const outputDetails = readRecord(counts.output_tokens_details);
  const read = usage({
    ...completeCounts(input, output, total),
    totalTokens: total,
    cachedTokens: readCount(inputDetails.cached_tokens),
    cacheWriteTokens: readCount(inputDetails.cache_write_tokens),
    reasoningTokens: readCount(outputDetails.reasoning_tokens),
    special: special({
      cacheWrite1hTokens: readCount(readRecord(inputDetails.cache_creation).ephemeral_1h_input_tokens),
      inputAudioTokens: readCount(inputDetails.audio_tokens),
      inputImageTokens: readCount(inputDetails.image_tokens),
      outputAudioTokens: readCount(outputDetails.audio_tokens),
      outputImageTokens: readCount(outputDetails.image_tokens),
      webSearches: countSearches(counts, tools) ?? searches,
    }),
  });
  // xAI reports it in 10⁻¹⁰ dollars.
  const cost = readUpstreamCost(counts.cost_in_usd_ticks, 1e10) ?? readUpstreamCost(counts.cost);
  if (cost !== undefined) read.upstreamCostNanoUsd = cost;
  return read;
}

const nothing: Record<string, unknown> = {};
const readRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : nothing);

/** Reads the provider's own count, if there is one. OpenAI sends it beside `usage`, xAI and gateways inside it. */
function countSearches(counts: Record<string, unknown>, tools: unknown): number | undefined {
  const details = readRecord(counts.server_side_tool_usage_details);
  const web = readCount(details.web_search_calls);
  const x = readCount(details.x_search_calls);
  if (web !== undefined || x !== undefined) return (web ?? 0) + (x ?? 0);
  return (
    readCount(readRecord(readRecord(tools).web_search).num_requests) ??
    readCount(readRecord(counts.server_tool_use_details ?? counts.server_tool_use).web_search_requests)
  );
}

/** Reads the tier in the terms of the interface. `auto` only repeats the request and does not show the used tier. */
export function readServiceTier(tier: unknown): string | null {
  if (typeof tier !== 'string' || tier === 'auto') return null;
  if (tier === 'standard') return 'default';
  return tier === 'fast' ? 'priority' : tier;
}

const numericSettings = [
  ...(['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs'] as const),
];

/** Reads the settings that a response object reports as used; undefined if there are none. */
export function readSettings(response: WireResponse): ReportedSettings | undefined {
  const settings: ReportedSettings = {};
  for (const name of numericSettings) {
    const value = response[name];
    if (typeof value === 'number' && Number.isFinite(value) && (name !== 'top_logprobs' || Number.isInteger(value)))
      settings[name] = value;
  }
  const { truncation } = response;
  if (truncation === 'auto' || truncation === 'disabled') settings.truncation = truncation;
  return Object.keys(settings).length > 0 ? settings : undefined;
}

/** Fields that the interface has or omits on purpose. */
const known = new Set(
  (
    'id object created_at completed_at status error error_type incomplete_details model output output_text usage ' +
    'instructions metadata parallel_tool_calls temperature top_p presence_penalty frequency_penalty tool_choice tools ' +
    'background max_output_tokens max_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options ' +
    'reasoning router_metadata safety_identifier service_tier store text top_logprobs truncation user'
  ).split(' '),
);

/** Returns the top-level fields that the interface does not know; undefined if there are none. */
export function readUnknownFields(response: WireResponse): Record<string, unknown> | undefined {
  let fields: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(response)) {
    if (known.has(name) || name === '__proto__') continue;
    fields ??= {};
    fields[name] = value;
  }
  return fields;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param what text that completes "The provider sent …" */
export const unexpectedUpstreamData = (what: string, cause?: unknown): GatewayError =>
  invalidUpstreamData(`The provider sent ${what}.`, cause);
