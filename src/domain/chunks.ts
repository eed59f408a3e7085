import type { OutputItem, ReasoningFormat } from './items.ts';
import type { Usage } from './usage.ts';

/** What a wire that has items of its own calls one of them. */
export type ItemKey = string | number;

/**
 * What a provider's frames mean. A reader makes chunks; `pipeline/build-events.ts` alone turns them into events.
 *
 * **Which item a chunk belongs to.** A simple wire leaves `key` out: text goes to the message in progress, reasoning to
 * the reasoning item in progress, and a change of kind closes the item before. A wire that has items of its own (the
 * native one) opens each with an `item` chunk and names it by `key` from then on; such an item is closed by `item_done`
 * alone, so that items may overlap. Tool calls are named by their `callId`.
 */
export type Chunk =
  | StartChunk
  | DebugChunk
  | TextChunk
  | AnnotationChunk
  | RefusalChunk
  | ReasoningChunk
  | ReasoningSummaryChunk
  | ReasoningSealChunk
  | ToolCallChunk
  | ToolCallArgumentsChunk
  | ItemChunk
  | PartChunk
  | RelayChunk
  | ItemDoneChunk
  | StepEndChunk
  | FinishChunk;

/** The provider has begun; nothing is visible yet. */
export interface StartChunk {
  type: 'start';
  /** The model that the provider says it runs. */
  model?: string;
}
/** The body that goes upstream, when the caller asked for `debug.echo_upstream_body`. Made by `attempt-text.ts`, never by a reader. */
export interface DebugChunk {
  type: 'debug';
  upstreamBody: unknown;
}
export interface TextChunk {
  type: 'text';
  delta: string;
  logprobs?: unknown[];
  key?: ItemKey;
}
/** An annotation in its flat wire shape, on the text part in progress. */
export interface AnnotationChunk {
  type: 'annotation';
  annotation: Record<string, unknown>;
  key?: ItemKey;
}
export interface RefusalChunk {
  type: 'refusal';
  delta: string;
  key?: ItemKey;
}
/** Raw reasoning text (`reasoning_text`). */
export interface ReasoningChunk {
  type: 'reasoning';
  delta: string;
  key?: ItemKey;
}
/** A summary of reasoning. Another `part` number begins the next summary part; absent = the part in progress. */
export interface ReasoningSummaryChunk {
  type: 'reasoning_summary';
  delta: string;
  part?: number;
  key?: ItemKey;
}
/** What only the provider understands; travels untouched, and belongs to the reasoning item in progress. */
export interface ReasoningSealChunk {
  type: 'reasoning_seal';
  format: ReasoningFormat;
  encryptedContent?: string;
  signature?: string;
  /** The provider's id of the item, when a replay needs it. */
  id?: string;
  key?: ItemKey;
}
/** A call begins. `kind` custom: its arguments are free text. `fields` are further wire fields of the item. */
export interface ToolCallChunk {
  type: 'tool_call';
  callId: string;
  name: string;
  kind?: 'function' | 'custom';
  namespace?: string;
  fields?: Record<string, unknown>;
}
export interface ToolCallArgumentsChunk {
  type: 'tool_call_arguments';
  callId: string;
  delta: string;
  /** On native wires the key of the item, in place of the call id. */
  key?: ItemKey;
}
/** An item of a native wire begins, in its wire shape (empty values), id included. */
export interface ItemChunk {
  type: 'item';
  key: ItemKey;
  item: OutputItem;
}
/** A content part of a native item begins. Without it the first delta opens the part. */
export interface PartChunk {
  type: 'part';
  key: ItemKey;
  part: { type: string; [field: string]: unknown };
}
/** An event of a native wire that the builder does not make itself; ids, indexes and number are set anew. */
export interface RelayChunk {
  type: 'relay';
  /** Absent: the event belongs to no item. */
  key?: ItemKey;
  event: { type: string; [field: string]: unknown };
}
/**
 * An item is complete, in its final wire shape. Without an `item` chunk before it the whole item arrives at once
 * (`readWhole`); what the deltas have not said yet is then told from the item.
 */
export interface ItemDoneChunk {
  type: 'item_done';
  key: ItemKey;
  item: OutputItem;
}
/** A step has ended that was not the last. Made by `step-filter.ts` of the finish of that step, never by a reader. */
export interface StepEndChunk {
  type: 'step_end';
}
/** The provider's own, regular end. A stream that stops without it was cut. */
export interface FinishChunk {
  type: 'finish';
  reason: FinishReason;
  /** undefined: the provider did not report it. */
  usage?: Usage;
  /** The tier that was used, in the words of the interface; null or undefined when not reported. */
  serviceTier?: string | null;
  /** Top-level fields of the provider's response object that the interface does not know; carried into ours. */
  fields?: Record<string, unknown>;
  /** Names of what the provider sent and this wire cannot carry; listed as `params.dropped_upstream_fields`. */
  dropped?: string[];
}
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter';

/** The provider ended in order, but its answer is not all that it would have been. */
export const isIncomplete = ({ reason }: FinishChunk): boolean => reason === 'length' || reason === 'content_filter';

/** Chunks that become events. */
export function isVisible(chunk: Chunk): boolean {
  return chunk.type !== 'start' && chunk.type !== 'debug' && chunk.type !== 'step_end';
}

/**
 * Chunks after which the client has seen output, so that no other endpoint may take over. That an item or a part begins
 * is none yet: it waits for its first words.
 */
export function isOutput(chunk: Chunk): boolean {
  return isVisible(chunk) && chunk.type !== 'item' && chunk.type !== 'part';
}
