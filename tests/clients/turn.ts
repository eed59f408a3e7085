/** The output of a model for one request, independent of a wire. */
export interface Turn {
  reasoning?: string;
  /** Whether the provider also returns its reasoning encrypted, for the client to send back. Not for the simulator. */
  encrypted?: string;
  text?: string;
  refusal?: string;
  calls?: readonly Call[];
  /** `length`: the output was truncated. Default: the reason that fits the rest of the turn. */
  finish?: 'length' | 'content_filter';
  usage?: Counts;
  /** Replaces the response. */
  fail?: { status: number; message: string; retryAfterSeconds?: number };
  /**
   * After the first words: silence until the client disconnects, or an error in the format of the provider. A response that is
   * not streamed never begins, and takes no `failure`.
   */
  after?: 'silence' | 'failure';
  /** The time before the provider responds. */
  waitMs?: number;
  /** The pause between two pieces of its stream. */
  slowMs?: number;
}

export interface Call {
  name: string;
  /** An object is the arguments of a function, a string the input of a custom tool. */
  input: object | string;
  /** The arguments of a function as a text, which may be invalid JSON. On wires without such a text: `input`. */
  raw?: string;
}

/** Tokens. `cached` is part of `input`, `reasoning` part of `output`. */
export interface Counts {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export const defaultCounts: Counts = { input: 120, cached: 20, output: 30, reasoning: 8 };

/** Splits a text into the pieces in which models stream it: words, each except the first with the space before it. */
export function cutWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** Splits JSON into small pieces at arbitrary places. */
export function cutJson(text: string): string[] {
  return text.match(/[\s\S]{1,7}/g) ?? [];
}

export const writeInput = ({ input, raw }: Call): string =>
  raw ?? (typeof input === 'string' ? input : JSON.stringify(input));
