import { countTokens } from './conversation.ts';
import { createNumbers } from './seed.ts';

/** Counts output tokens, and truncates the output at the limit. */
export interface Meter {
  /** Whether any output was truncated. */
  readonly isFull: boolean;
  readonly reasoningTokens: number;
  readonly outputTokens: number;
  /** Returns the part of the text that fits within the limit. Never splits a surrogate pair. */
  take(text: string, kind: 'reasoning' | 'text'): string;
  /** Adds output without characters, such as an image. It is never truncated. */
  add(tokens: number): void;
}

/** @param limit `max_output_tokens`, which includes reasoning */
export function createMeter(limit = Number.POSITIVE_INFINITY): Meter {
  const characters = { reasoning: 0, text: 0 };
  let wordless = 0;
  let isFull = false;
  return {
    get isFull() {
      return isFull;
    },
    get reasoningTokens() {
      return countTokens(characters.reasoning);
    },
    get outputTokens() {
      return countTokens(characters.reasoning) + countTokens(characters.text) + wordless;
    },
    take(text, kind) {
      const other = countTokens(characters[kind === 'text' ? 'reasoning' : 'text']) + wordless;
      const room = Math.max(0, (limit - other) * 4 - characters[kind]);
      const taken = text.length <= room ? text : cutWhole(text, room);
      characters[kind] += taken.length;
      isFull ||= taken.length < text.length;
      return taken;
    },
    add(tokens) {
      wordless += tokens;
    },
  };
}

function cutWhole(text: string, length: number): string {
  const splitsPair = length > 0 && text.charCodeAt(length - 1) >> 10 === 0x36; // the last unit is a high surrogate
  return text.slice(0, splitsPair ? length - 1 : length);
}

/** Splits a text into tokens for streaming: a word with the space before it, or 16 characters of a longer word. */
export function* cutTokens(text: string): Generator<string> {
  for (const [token] of text.matchAll(/\s*\S{1,16}|\s+/gu)) yield token;
}

const alternatives = [' perhaps', ' maybe', ' then', ' also', ' never', ' still', ' once', ' here', ' now', ' again'];

/**
 * Creates a log probability that depends only on the token, with `count` candidates. The first candidate is the token.
 */
export function guessLogprob(token: string, count: number): object {
  const next = createNumbers(`logprob ${token}`);
  let logprob = -(next() % 500) / 1000; // exp(-0.5) is 0.61: the token is always the most likely one
  const chosen = { token, logprob, bytes: [...Buffer.from(token)] };
  const candidates = Array.from({ length: count }, (_, index) => {
    if (index === 0) return chosen;
    logprob -= 1 + (next() % 500) / 1000;
    const other = `${alternatives[index % alternatives.length]}${index > alternatives.length ? index : ''}`;
    return { token: other, logprob, bytes: [...Buffer.from(other)] };
  });
  return { ...chosen, top_logprobs: candidates };
}
