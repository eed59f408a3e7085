/** What a model puts out in answer to one request, in the words of no wire. */
export interface Turn {
  reasoning?: string;
  /** The provider gives its reasoning encrypted as well, for the client to send back. Not at the simulator. */
  encrypted?: string;
  text?: string;
  refusal?: string;
  calls?: readonly Call[];
  /** `length`: the model was cut. Absent: what the rest of the turn calls for. */
  finish?: 'length' | 'content_filter';
  usage?: Counts;
  /** In place of an answer. */
  fail?: { status: number; message: string; retryAfterSeconds?: number };
  /**
   * After the first words: silence until the client leaves, or an error in the provider's own shape. An answer that is
   * not streamed never begins, and takes no `failure`.
   */
  after?: 'silence' | 'failure';
  /** The provider thinks that long before it answers. */
  waitMs?: number;
  /** It pauses that long between any two pieces of its stream. */
  slowMs?: number;
}

export interface Call {
  name: string;
  /** An object is the arguments of a function, a string the input of a custom tool. */
  input: object | string;
}

/** Tokens. `cached` is part of `input`, `reasoning` part of `output`. */
export interface Counts {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export const defaultCounts: Counts = { input: 120, cached: 20, output: 30, reasoning: 8 };

/** A text in the pieces in which models stream it: words, each but the first with the space before it. */
export function cutWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** JSON in small pieces that break it at odd places. */
export function cutJson(text: string): string[] {
  return text.match(/[\s\S]{1,7}/g) ?? [];
}

export const writeInput = ({ input }: Call): string => (typeof input === 'string' ? input : JSON.stringify(input));
