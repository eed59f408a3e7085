import { countTokens } from './conversation.ts';
import { createNumbers } from './seed.ts';

/** Keeps count of what is put out, and cuts it where the limit is reached. */
export interface Meter {
  /** True once something had to be cut. */
  readonly isFull: boolean;
  readonly reasoningTokens: number;
  readonly outputTokens: number;
  /** The part of the text for which there is room; never half of a surrogate pair. */
  take(text: string, kind: 'reasoning' | 'text'): string;
  /** What has no characters: an image. Never cut. */
  add(tokens: number): void;
}

/** @param limit `max_output_tokens`; reasoning counts towards it */
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

/** Cuts a text into what is streamed as one token: a word with the space before it, or 16 characters of a longer one. */
export function* cutTokens(text: string): Generator<string> {
  for (const [token] of text.matchAll(/\s*\S{1,16}|\s+/gu)) yield token;
}

const alternatives = [' perhaps', ' maybe', ' then', ' also', ' never', ' still', ' once', ' here', ' now', ' again'];

/** A log probability that is the same for the same token, with `count` candidates of which the token is the first. */
export function guessLogprob(token: string, count: number): object {
  const next = createNumbers(`logprob ${token}`);
  let logprob = -(next() % 500) / 1000; // exp(-0.5) is 0.61: the token is always the likeliest one
  const chosen = { token, logprob, bytes: [...Buffer.from(token)] };
  const candidates = Array.from({ length: count }, (_, index) => {
    if (index === 0) return chosen;
    logprob -= 1 + (next() % 500) / 1000;
    const other = `${alternatives[index % alternatives.length]}${index > alternatives.length ? index : ''}`;
    return { token: other, logprob, bytes: [...Buffer.from(other)] };
  });
  return { ...chosen, top_logprobs: candidates };
}
