import type { FinishReason } from '../../domain/chunks.ts';
import type { TokenCounts } from './wire.ts';

/** The directives of one turn, in the order in which they were written. */
export type OutputDirective =
  | { kind: 'say'; text: string }
  | { kind: 'reason'; text: string }
  | { kind: 'refuse'; text: string }
  /** `rest` is the text after the name: JSON, free text, or nothing. Without it, the arguments are generated. */
  | { kind: 'call'; name: string; rest: string }
  | { kind: 'cite'; url: string; title: string };

/** How a stream ends early, after a number of tokens. */
export interface Interruption {
  after: number;
  how: 'cut' | 'stall' | 'break';
  /** The error status of a `break`. */
  status: number;
  message: string;
}

/** The settings in the directives of one turn. */
export interface ScriptTurn {
  orders: OutputDirective[];
  words?: number;
  logprobs?: number;
  finish?: FinishReason;
  /** `null`: report no usage. */
  usage?: Partial<TokenCounts> | null;
  waitMs?: number;
  slowMs?: number;
  failure?: { status: number; message: string; retryAfterSeconds?: number };
  break?: Interruption;
}

export interface DirectiveScript {
  /** The text without directives, trimmed. */
  text: string;
  /** One or more. `[[then]]` starts the next one. */
  turns: ScriptTurn[];
}

/** Maximum number of directives in a text. The rest is plain text. The limit bounds the work for hostile input. */
export const MAX_DIRECTIVES = 100;
const MAX_WORDS = 100_000;
const MAX_PAUSE_MS = 600_000;

/**
 * Reads directives such as `[[say Hello]]` between pieces of text. An unknown directive, or one with invalid arguments,
 * is text.
 *
 * @see docs/reference/simulator.md
 */
export function readScript(source: string): DirectiveScript {
  const pieces: string[] = [];
  const turns: ScriptTurn[] = [{ orders: [] }];
  let textFrom = 0;
  let seen = 0;
  const opening = /\[\[([a-z]+)(?=\s|\]\])/g;
  for (let match = opening.exec(source); match && seen < MAX_DIRECTIVES; match = opening.exec(source)) {
    const name = match[1]!;
    if (name !== 'then' && !Object.hasOwn(directives, name)) continue;
    seen++;
    const end = findEnd(source, opening.lastIndex);
    if (end === undefined) break;
    const rest = source.slice(opening.lastIndex, end).trim();
    if (name === 'then') turns.push({ orders: [] });
    else if (!directives[name]!(turns.at(-1)!, rest)) continue;
    pieces.push(source.slice(textFrom, match.index));
    textFrom = opening.lastIndex = end + 2;
  }
  pieces.push(source.slice(textFrom));
  const text = pieces
    .map((piece) => piece.trim())
    .filter(Boolean)
    .join(' ');
  return { text, turns };
}

/** Merges the directives of the instructions and of the user for one turn. If both set a value, the user's is used. */
export function joinTurns(first: ScriptTurn | undefined, second: ScriptTurn | undefined): ScriptTurn {
  return { ...first, ...second, orders: [...(first?.orders ?? []), ...(second?.orders ?? [])] };
}

/** Parsers of the directives. Each writes its arguments to the turn and returns whether they are valid. */
const directives: Record<string, (turn: ScriptTurn, rest: string) => boolean> = {
  say: (turn, rest) => addOrder(turn, rest !== '', { kind: 'say', text: rest }),
  reason: (turn, rest) => addOrder(turn, rest !== '', { kind: 'reason', text: rest }),
  refuse: (turn, rest) => addOrder(turn, true, { kind: 'refuse', text: rest || 'I cannot help with that.' }),
  call: (turn, rest) => {
    const [name, more] = splitWord(rest);
    return addOrder(turn, name !== '', { kind: 'call', name, rest: more });
  },
  cite: (turn, rest) => {
    const [url, title] = splitWord(rest);
    return addOrder(turn, URL.canParse(url), { kind: 'cite', url, title });
  },
  words: countOf('words', MAX_WORDS),
  logprobs: countOf('logprobs', 20, '0'),
  wait: countOf('waitMs', MAX_PAUSE_MS),
  slow: countOf('slowMs', MAX_PAUSE_MS),
  finish: (turn, rest) => {
    if (!isFinishReason(rest)) return false;
    turn.finish = rest;
    return true;
  },
  usage: (turn, rest) => {
    const counts = rest === 'none' ? null : readCounts(rest);
    if (counts === undefined) return false;
    turn.usage = counts;
    return true;
  },
  fail: (turn, rest) => {
    const match = /^([45]\d\d)(?:\s+(\d{1,6})s)?(?:\s+(.*))?$/s.exec(rest);
    if (!match) return false;
    const status = Number(match[1]);
    const wait = match[2] ?? (status === 429 ? '1' : undefined);
    turn.failure = { status, message: match[3] ?? 'Failed as told.' };
    if (wait !== undefined) turn.failure.retryAfterSeconds = Number(wait);
    return true;
  },
  cut: (turn, rest) => setBreak(turn, 'cut', readCount(rest || '0')),
  stall: (turn, rest) => setBreak(turn, 'stall', readCount(rest || '0')),
  break: (turn, rest) => {
    const match = /^(\d+)\s+([45]\d\d)(?:\s+(.*))?$/s.exec(rest);
    return match !== null && setBreak(turn, 'break', readCount(match[1]!), Number(match[2]), match[3]);
  },
};

function addOrder(turn: ScriptTurn, makesSense: boolean, order: OutputDirective): boolean {
  if (makesSense) turn.orders.push(order);
  return makesSense;
}

function setBreak(
  turn: ScriptTurn,
  how: Interruption['how'],
  after: number | undefined,
  status = 500,
  message = 'Broke as told.',
) {
  if (after === undefined) return false;
  turn.break = { after, how, status, message };
  return true;
}

const isFinishReason = (word: string): word is FinishReason =>
  ['stop', 'length', 'content_filter', 'tool_calls'].includes(word);

/** Creates the parser of a directive that is one number. Limits the number to `max`. */
function countOf(field: 'words' | 'logprobs' | 'waitMs' | 'slowMs', max: number, byDefault = '') {
  return (turn: ScriptTurn, rest: string): boolean => {
    const count = readCount(rest || byDefault);
    if (count !== undefined) turn[field] = Math.min(count, max);
    return count !== undefined;
  };
}

function readCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function readCounts(text: string): Partial<TokenCounts> | undefined {
  try {
    const counts: unknown = JSON.parse(text);
    if (typeof counts !== 'object' || counts === null || Array.isArray(counts)) return undefined;
    const isCount = ([name, count]: [string, unknown]) =>
      ['input', 'output', 'cached', 'reasoning'].includes(name) && Number.isSafeInteger(count) && Number(count) >= 0;
    return Object.entries(counts).every(isCount) ? counts : undefined;
  } catch {
    return undefined;
  }
}

function splitWord(text: string): [word: string, rest: string] {
  const word = /^\S*/.exec(text)![0];
  return [word, text.slice(word.length).trim()];
}

/** Finds the `]]` of a directive. JSON after its first word may itself contain `]]`. */
function findEnd(source: string, from: number): number | undefined {
  const plain = source.indexOf(']]', from);
  if (plain === -1) return undefined;
  const json = /\s*(?:[^\s[\]{}]+\s+)?(?=[[{])/y;
  json.lastIndex = from;
  if (json.test(source)) {
    const closing = /\s*(?=\]\])/y;
    closing.lastIndex = skipJson(source, json.lastIndex);
    if (closing.test(source)) return closing.lastIndex;
  }
  return plain;
}

/** Returns the index after the object or list that starts at `from`, or the end of the text. */
function skipJson(source: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let at = from; at < source.length; at++) {
    const character = source[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return at + 1;
  }
  return source.length;
}
