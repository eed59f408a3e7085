import type { OutputItem, Tool, ToolChoice } from './items.ts';
import type { ReasoningSetting, TextSetting } from './request.ts';
import type { RouterMetadata } from './router-metadata.ts';
import type { WireUsage } from './usage.ts';

/** The response object. Every key of its table is always present. @see docs/reference/responses.md#result */
export interface ResponseObject {
  id: string;
  object: 'response';
  created_at: number;
  completed_at: number | null;
  status: 'completed' | 'incomplete' | 'in_progress' | 'failed';
  error: { code: string; message: string; [field: string]: unknown } | null;
  error_type?: string;
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null;
  model: string;
  output: OutputItem[];
  usage: WireUsage | null;
  instructions: string | null;
  metadata: Record<string, string> | null;
  parallel_tool_calls: boolean;
  temperature: number;
  top_p: number;
  presence_penalty: number;
  frequency_penalty: number;
  tool_choice: ToolChoice;
  tools: Tool[];
  background: boolean;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  previous_response_id: null;
  prompt: unknown;
  prompt_cache_key: string | null;
  /** Absent if the request has none: the public type has no null here. */
  prompt_cache_options?: object;
  reasoning: Pick<ReasoningSetting, 'context' | 'effort' | 'mode' | 'summary'> | null;
  safety_identifier: string | null;
  service_tier: string | null;
  store: false;
  text: TextSetting;
  top_logprobs: number;
  truncation: 'auto' | 'disabled';
  user: string | null;
  /** The value of the provider, otherwise null: newer clients require the field. */
  access_programs: unknown;
  router_metadata?: RouterMetadata;
}
