import type { FinishReason } from '../../domain/chunks.ts';
import type { InputItem, Tool, ToolChoice } from '../../domain/items.ts';
import type { ReasoningSetting, TextSetting } from '../../domain/request.ts';

/** The fields of a request that the simulator uses, under their names in the interface. */
export interface SimulatorRequest {
  model: string;
  /** Each token is written alone, and images are shown while they are drawn. */
  stream?: true;
  instructions?: string;
  input: InputItem[];
  tools?: Tool[];
  tool_choice?: ToolChoice;
  parallel_tool_calls?: boolean;
  format?: TextSetting['format'];
  reasoning?: ReasoningSetting;
  max_output_tokens?: number;
  /** Log probabilities are wanted, each with that many alternatives: 0 or more. */
  logprobs?: number;
}

/**
 * The simulator's own protocol: a streamed response is one message per frame, a whole response is a list of them.
 * `begin` comes first; `end` or `error` last. `text`, `refusal`, `reasoning`, `summary` and `arguments` carry tokens.
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

/** Tokens. */
export interface TokenCounts {
  input: number;
  output: number;
  /** Part of `input`. */
  cached: number;
  /** Part of `output`. */
  reasoning: number;
}
