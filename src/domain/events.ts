import type { ResponseObject } from './response.ts';

/**
 * An event of the stream, in wire shape. Only `pipeline/events/build-events.ts` creates it; `http/sse.ts` writes it.
 *
 * @see docs/reference/events.md#events for the fields of each type
 */
export type ResponseEvent = LifecycleEvent | DeltaEvent | OtherEvent;

export interface LifecycleEvent {
  type: 'response.created' | 'response.in_progress' | 'response.completed' | 'response.incomplete' | 'response.failed';
  sequence_number: number;
  response: ResponseObject;
}

/** The most frequent events. Their shape is fixed, so that the writer only has to escape `delta`. */
export interface DeltaEvent {
  type:
    | 'response.output_text.delta'
    | 'response.refusal.delta'
    | 'response.reasoning_text.delta'
    | 'response.reasoning_summary_text.delta'
    | 'response.function_call_arguments.delta'
    | 'response.custom_tool_call_input.delta';
  sequence_number: number;
  item_id: string;
  output_index: number;
  content_index?: number;
  summary_index?: number;
  delta: string;
  /** Only on `output_text`: `[]` if not requested. */
  logprobs?: unknown[];
}

/** `DeltaEvent['type']` is not excluded here, so test with `isDelta`. */
export interface OtherEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}
