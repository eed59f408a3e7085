import type { FinishReason } from '../../domain/chunks.ts';
import type { InputItem, Tool, ToolChoice } from '../../domain/items.ts';
import type { ReasoningSetting, TextSetting } from '../../domain/request.ts';

/** The fields of a request that the simulator uses, under their names in the interface. */
export interface SimulatorRequest {
  model: string;
  /** Whether each token is sent separately, and partial images are sent. */
  stream?: true;
  instructions?: string;
  input: InputItem[];
  tools?: Tool[];
  tool_choice?: ToolChoice;
  parallel_tool_calls?: boolean;
  format?: TextSetting['format'];
  reasoning?: ReasoningSetting;
  max_output_tokens?: number;
  /** Set if log probabilities are requested: the number of alternatives for each, 0 or more. */
  logprobs?: number;
}

/**
 * The simulator's own protocol. A streamed response has one message per frame. A buffered response is a list of
 * messages. `begin` is first, and `end` or `error` is last. `text`, `refusal`, `reasoning`, `summary` and `arguments`
 * contain tokens.
 */
export type Message =
  | { type: 'begin'; model: string }
  | { type: 'reasoning'; text: string }
  | { type: 'summary'; text: string }
  | { type: 'text'; text: string; logprobs?: object[] }
  | { type: 'cite'; annotation: Record<string, unknown> }
  | { type: 'refusal'; text: string }
  | { type: 'call'; id: string; name: string; kind: 'function' | 'custom'; namespace?: string }
  | { type: 'arguments'; id: string; text: string }
  | { type: 'drawing'; id: string; prompt: string }
  | { type: 'sketch'; id: string; index: number; png: string }
  | { type: 'image'; id: string; prompt: string; png: string }
  | { type: 'error'; status: number; message: string }
  | { type: 'end'; reason: FinishReason; usage: TokenCounts | null };

/** Token counts. */
export interface TokenCounts {
  input: number;
  output: number;
  /** Included in `input`. */
  cached: number;
  /** Included in `output`. */
  reasoning: number;
}
