import type { OutputItem, ReasoningFormat } from './items.ts';
import type { NativeEnd, NativeStart } from './native.ts';
import type { Usage } from './usage.ts';

/** The name of an item on a wire that has items of its own. */
export type ItemKey = string | number;

/**
 * The meaning of a provider's frames. A reader creates chunks; only `pipeline/events/build-events.ts` turns them into
 * events.
 *
 * **The item of a chunk.** A simple wire omits `key`: text goes to the message in progress, reasoning to the
 * reasoning item in progress, and a change of kind closes the previous item. A wire with items of its own (the native
 * one) opens each with an `item` chunk and names it by `key` afterwards. Only `item_done` closes such an item, so items
 * may overlap. Tool calls are named by their `callId`.
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
  | PartDoneChunk
  | PartEndChunk
  | RelayChunk
  | ItemDoneChunk
  | ItemSuspendedChunk
  | StepEndChunk
  | FinishChunk;

/** The provider has started to respond. Nothing is visible yet. */
export interface StartChunk {
  type: 'start';
  /** The model that the provider reports. */
  model?: string;
  settings?: ReportedSettings;
  /** For a client of the same format. */
  native?: NativeStart;
}
/** Settings that the provider reports as used, under their names in the response object. Absent: not reported. */
export interface ReportedSettings {
  temperature?: number;
  top_p?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  top_logprobs?: number;
  truncation?: 'auto' | 'disabled';
}
/**
 * The body that is sent upstream, if the caller requested `debug.echo_upstream_body`. `attempt-text.ts` creates it,
 * never a reader.
 */
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
/** A summary of reasoning. A different `part` number begins the next summary part. Absent: the part in progress. */
export interface ReasoningSummaryChunk {
  type: 'reasoning_summary';
  delta: string;
  part?: number;
  key?: ItemKey;
}
/** Data that only the provider understands. It travels unchanged and belongs to the reasoning item in progress. */
export interface ReasoningSealChunk {
  type: 'reasoning_seal';
  format: ReasoningFormat;
  encryptedContent?: string;
  signature?: string;
  /** The provider's id of the item, if a replay needs it. */
  id?: string;
  key?: ItemKey;
}
/** A call begins. `kind` custom: its arguments are free text. `fields` are other wire fields of the item. */
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
  /** On native wires, the key of the item instead of the call id. */
  key?: ItemKey;
}
/** An item of a native wire begins, in its wire shape with empty values, including its id. */
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
/**
 * A content or summary part of a native item is complete, in its wire shape. Text that no delta contained becomes one
 * more delta.
 */
export interface PartDoneChunk {
  type: 'part_done';
  key: ItemKey;
  part: { type: string; [field: string]: unknown };
  /** Its `content_index` or `summary_index`. Absent: the part in progress. */
  index?: number;
}
/** The part in progress of a message without a key ends. The next text begins another part. */
export interface PartEndChunk {
  type: 'part_end';
}
/** An event of a native wire that the builder does not create itself. Ids, indexes and the number are replaced. */
export interface RelayChunk {
  type: 'relay';
  /** Absent: the event belongs to no item. */
  key?: ItemKey;
  event: { type: string; [field: string]: unknown };
}
/**
 * An item is complete, in its final wire shape. Without an earlier `item` chunk the whole item arrives at once
 * (`readWhole`); events for what no delta contained are then created from the item.
 */
export interface ItemDoneChunk {
  type: 'item_done';
  key: ItemKey;
  item: OutputItem;
}
/** An item waits for the caller: it stays in progress, and no event ends it. Only server tools create it. */
export interface ItemSuspendedChunk {
  type: 'item_suspended';
  key: ItemKey;
}
/**
 * The end of a step that is not the last. `step-filter.ts` creates it from the finish of that step, never a reader. A
 * reviser of the items of server tools gets one at their end, and does not pass it on.
 */
export interface StepEndChunk {
  type: 'step_end';
}
/** The provider's own, regular end. A stream that ends without it was truncated. */
export interface FinishChunk {
  type: 'finish';
  reason: FinishReason;
  /** The provider's own word, if it differs from `reason`. Empty: it sent none. */
  nativeReason?: string;
  /** The text of the request's `stop` that ended the output, if the provider names it or the gateway found it. */
  stopText?: string;
  /** Undefined: the provider did not report it. */
  usage?: Usage;
  /** The tier that was used, in the terms of the interface. Null or undefined: it was not reported. */
  serviceTier?: string | null;
  settings?: ReportedSettings;
  /** Top-level fields of the provider's response object that the interface does not know. They are copied into ours. */
  fields?: Record<string, unknown>;
  /** Names of fields that the provider sent and this wire cannot carry. Listed as `params.dropped_upstream_fields`. */
  dropped?: string[];
  /** Names of what the reader had to infer. Listed as `params.adapted`. */
  adapted?: readonly string[];
  /** For a client of the same format. */
  native?: NativeEnd;
}
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter';

/** Whether the provider ended regularly, but the response is not complete. */
export const isIncomplete = ({ reason }: FinishChunk): boolean => reason === 'length' || reason === 'content_filter';

const hidden: ReadonlySet<Chunk['type']> = new Set(['start', 'debug', 'step_end', 'part_end']);

/** Whether the chunk becomes events. */
export function isVisible(chunk: Chunk): boolean {
  return !hidden.has(chunk.type);
}

/** What frames output, and has none itself. */
const frames: ReadonlySet<Chunk['type']> = new Set(['item', 'part', 'finish']);

/**
 * Whether the client has seen output after this chunk, so that no other endpoint may take over. The start of an item or
 * a part is not output yet: it waits for its first delta. An empty delta, and the end of an empty part or item, show
 * nothing.
 */
export function isOutput(chunk: Chunk): boolean {
  return isVisible(chunk) && !frames.has(chunk.type) && !isBlank(chunk);
}

/** Whether the chunk is output other than reasoning. */
export const isSpoken = (chunk: Chunk): boolean => isOutput(chunk) && !reasoning.has(chunk.type);

const reasoning: ReadonlySet<Chunk['type']> = new Set(['reasoning', 'reasoning_summary', 'reasoning_seal']);

function isBlank(chunk: Chunk): boolean {
  switch (chunk.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
    case 'reasoning_summary':
      return chunk.delta === '';
    case 'part_done':
      return isBlankPart(chunk.part);
    case 'item_done': {
      const { type, content, summary, encrypted_content: sealed } = chunk.item as Record<string, unknown>;
      if (type !== 'message' && type !== 'reasoning') return false;
      return (sealed ?? '') === '' && [content, summary].flat().every(isBlankPart);
    }
    default:
      return false;
  }
}

function isBlankPart(part: unknown): boolean {
  const { type = '', text, refusal } = (part ?? {}) as Record<string, unknown>;
  return textParts.has(String(type)) && (text ?? '') === '' && (refusal ?? '') === '';
}

const textParts: ReadonlySet<string> = new Set(['', 'output_text', 'refusal', 'reasoning_text', 'summary_text']);
