/** An object or a list in a text. */
export interface FoundJson {
  start: number;
  /** Places where it may end, the most probable one first. */
  ends: readonly number[];
  /** Whether its last bracket was found. */
  isClosed: boolean;
  /** Whether it is in a code block. */
  isFenced: boolean;
}

/** The beginning of an object or a list, unlike a bracket in a sentence. */
const begin =
  /\{\s*(?:["'}“‘]|\/[/*]|[\w$-]+\s*:|$)|\[\s*(?:["'[{\]“‘\d-]|\/[/*]|(?:true|false|null|True|False|None)\b|$)/y;
/** A line that can be a part of JSON, unlike a sentence. */
const line = /^\s*(?:["'“‘{}[\],\d-]|\/[/*]|(?:true|false|null|True|False|None)\b|[\w$-]+\s*:|$)/;

/** Finds the outermost objects and lists of a text, also if their syntax has mistakes. */
export function* findJson(text: string): Generator<FoundJson> {
  const bracket = /[{[]/g;
  for (let found = bracket.exec(text); found; found = bracket.exec(text)) {
    const start = found.index;
    begin.lastIndex = start;
    if (!begin.test(text)) continue;
    const { end, isInString } = scanValue(text, start);
    const last = text.lastIndexOf(text[start] === '{' ? '}' : ']') + 1;
    const ends = [
      ...(end === undefined ? [] : [end]),
      ...(last > start && last !== end ? [last] : []),
      ...(end === undefined ? [isInString ? text.length : cutSentences(text, start)] : []),
    ];
    yield { start, ends, isClosed: end !== undefined, isFenced: isInFence(text, start) };
    if (end === undefined) return; // the rest belongs to it
    bracket.lastIndex = end;
  }
}

/** Finds the counterpart of a bracket. Missing and additional brackets inside are no obstacle. */
function scanValue(text: string, start: number): { end: number | undefined; isInString: boolean } {
  const open: string[] = [];
  let quote = '';
  let before = ''; // the last letter that is no space
  for (let at = start; at < text.length; at++) {
    const letter = text[at]!;
    if (quote !== '') {
      if (letter === '\\') at++;
      else if (letter === quote && (quote === '"' || closesString.test(text.slice(at + 1, at + LOOKAHEAD)))) quote = '';
      continue;
    }
    if (letter === '"' || (letter === "'" && '{[,:'.includes(before))) quote = letter;
    else if (letter === '/' && (text[at + 1] === '/' || text[at + 1] === '*')) {
      at = skipComment(text, at) - 1;
      continue;
    } else if (letter === '{') open.push('}');
    else if (letter === '[') open.push(']');
    else if (letter === '}' || letter === ']') {
      const depth = open.lastIndexOf(letter);
      if (depth !== -1) open.length = depth;
      if (open.length === 0) return { end: at + 1, isInString: false };
    }
    if (letter.trim() !== '') before = letter;
  }
  return { end: undefined, isInString: quote !== '' };
}

/** What follows a string in single quotes, unlike an apostrophe in it. */
const closesString = /^\s*(?:[,:}\]]|$)/;
const LOOKAHEAD = 64;

function skipComment(text: string, at: number): number {
  const isLine = text[at + 1] === '/';
  const end = text.indexOf(isLine ? '\n' : '*/', at + 2);
  return end === -1 ? text.length : end + (isLine ? 0 : 2);
}

/** Returns the end of a value that is not closed: before the end of its code block, and before sentences after it. */
function cutSentences(text: string, start: number): number {
  const fence = /\n[ \t]*```/g;
  fence.lastIndex = start;
  let end = fence.exec(text)?.index ?? text.length;
  for (let from = text.lastIndexOf('\n', end - 1); from > start; from = text.lastIndexOf('\n', end - 1)) {
    if (line.test(text.slice(from + 1, Math.min(end, from + LOOKAHEAD)))) break;
    end = from;
  }
  return end;
}

const isInFence = (text: string, at: number): boolean =>
  (text.slice(0, at).match(/^[ \t]*```/gm)?.length ?? 0) % 2 === 1;
