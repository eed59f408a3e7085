import {
  type CharSet,
  createCharSet,
  digits,
  findPropertySet,
  loadPropertySet,
  haveOverlaps,
  ignoreCase,
  lineEnds,
  negateCharSet,
  rangesOf,
  spaces,
  wordCharacters,
} from './char-set.ts';
import { factorChoices } from './factor-choices.ts';
import { finishSteps } from './finish-steps.ts';

/** A parsed expression. */
export type Node =
  | { readonly type: 'set'; readonly set: CharSet }
  | { readonly type: 'sequence'; readonly items: readonly Node[] }
  | { readonly type: 'choice'; readonly items: readonly Node[] }
  | { readonly type: 'repeat'; readonly item: Node; readonly min: number; readonly max: number; readonly lazy: boolean }
  | { readonly type: 'assert'; readonly kind: AssertionKind; readonly set: CharSet };

/** `before…` and `after…` look at one character. */
export type AssertionKind = 'start' | 'end' | 'boundary' | 'noBoundary' | 'before' | 'notBefore' | 'after' | 'notAfter';

/** An expression that is invalid or not supported. The message is a sentence for the author of the expression. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export interface ParseOptions {
  /** Allows `(?=…)`, `(?!…)`, `(?<=…)` and `(?<!…)` around a single character or class. For built-in expressions. */
  allowLooks?: boolean;
  ignoreCase?: boolean;
}

/** Length of a match in UTF-16 code units, unless an expression has its own limit. Attempts that get longer are given up. */
export const MAX_MATCH_LENGTH = 4096;

/** Bounds the recursion of the parser and of the compiler. */
const MAX_DEPTH = 200;
/** Instructions of one expression. A character or class is one; a counted repetition has its item once for each count. */
export const MAX_SIZE = 250_000;

/** Characters of a class, and of all classes of an expression: the JavaScript engine takes long for more. */
const MAX_CLASS_LENGTH = 2000;
const MAX_CLASSES_LENGTH = 10_000;
/** Ranges of characters in the different classes of an expression. `\p{L}` has about 650. */
export const MAX_RANGES = 20_000;
/** Units of work between two pauses: a character is one. */
const SLICE_WORK = 2000;

/**
 * Parses an expression in the syntax of JavaScript with the flag `u`.
 *
 * @throws {PatternError} if it is invalid, or is among what the engine does not support
 * @see docs/reference/guardrails.md#pattern-syntax
 */
export const parsePattern = (source: string, options: ParseOptions = {}): Node =>
  finishSteps(parseInSlices(source, options));

/** Does the same as `parsePattern`. Yields where other work may run. */
export function* parseInSlices(source: string, options: ParseOptions = {}): Generator<void, Node> {
  checkClasses(source);
  yield;
  try {
    new RegExp(source, 'u');
  } catch (cause) {
    throw new PatternError(`The pattern is not a valid JavaScript regular expression: ${reasonOf(cause)}.`);
  }
  yield;
  for (const [property] of source.matchAll(/\\[pP]\{[^}]*\}/g)) {
    if (isProperty(property)) yield* loadPropertySet(property);
  }
  const node = yield* new Parser(source, options).parse();
  yield;
  if (isNullable(node)) throw new PatternError('The pattern can match the empty text. Require at least one character.');
  if (sizeOf(node) > MAX_SIZE) {
    throw new PatternError(
      `The pattern is too large: after its counts are expanded, it has more than ${MAX_SIZE} parts.`,
    );
  }
  const length = lengthOf(node);
  if (length > MAX_MATCH_LENGTH && !options.allowLooks) {
    throw new PatternError(
      `The pattern matches only texts of at least ${length} characters, more than ${MAX_MATCH_LENGTH}.`,
    );
  }
  yield;
  return yield* factorChoices(node);
}

/** Whether it is a property escape, and not only looks like one: its backslash may be escaped. */
function isProperty(text: string): boolean {
  try {
    return new RegExp(text, 'u').source === text;
  } catch {
    return false;
  }
}

function checkClasses(source: string): void {
  let total = 0;
  let start = -1;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === '\\') at++;
    else if (character === '[' && start === -1) start = at;
    else if (character === ']' && start !== -1) {
      const length = at - start;
      total += length;
      if (length > MAX_CLASS_LENGTH || total > MAX_CLASSES_LENGTH) {
        const most = `at most ${MAX_CLASS_LENGTH} are allowed, and ${MAX_CLASSES_LENGTH} in all classes`;
        throw new PatternError(`The class at ${start} has ${length} characters, but ${most}. Write ranges.`);
      }
      start = -1;
    }
  }
}

/** The engine repeats the expression in its message; only what comes after it is useful. */
const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : '').replace(/^.*: /s, '');

const empty: Node = { type: 'sequence', items: [] };
const dot = negateCharSet(lineEnds);

const beginsQuantifier = new Set(['*', '+', '?', '{'].map((sign) => sign.charCodeAt(0)));

class Parser {
  private readonly source: string;
  private readonly options: ParseOptions;
  private readonly singles = new Map<number, Node>();
  private readonly sets = new Map<string, Node>();
  private at = 0;
  private work = 0;
  private ranges = 0;
  private depth = 0;

  constructor(source: string, options: ParseOptions) {
    this.source = source;
    this.options = options;
  }

  parse(): Generator<void, Node> {
    return this.parseChoice();
  }

  private *parseChoice(): Generator<void, Node> {
    if (++this.depth > MAX_DEPTH) throw new PatternError(`The pattern has more than ${MAX_DEPTH} nested groups.`);
    const items = [yield* this.parseSequence()];
    while (this.take('|')) items.push(yield* this.parseSequence());
    this.depth--;
    return items.length === 1 ? items[0]! : { type: 'choice', items };
  }

  private *parseSequence(): Generator<void, Node> {
    const items: Node[] = [];
    while (this.at < this.source.length && !this.sees('|') && !this.sees(')')) {
      const start = this.at;
      const atom = this.take('(') ? yield* this.parseGroup() : this.parseAtom();
      items.push(this.parseQuantifier(atom, start));
      if (++this.work < SLICE_WORK) continue;
      this.work = 0;
      yield;
    }
    return items.length === 1 ? items[0]! : { type: 'sequence', items };
  }

  private parseQuantifier(item: Node, start: number): Node {
    if (!beginsQuantifier.has(this.source.charCodeAt(this.at))) return item;
    const match = /(?:([*+?])|\{(\d+)(,(\d*))?\})(\??)/y;
    match.lastIndex = this.at;
    const found = match.exec(this.source);
    if (!found) return item;
    this.at = match.lastIndex;
    const [text, sign, low, comma, high, lazy] = found;
    const min = sign === undefined ? Number(low) : sign === '+' ? 1 : 0;
    const most = comma === undefined ? Number(low) : high === '' ? Number.POSITIVE_INFINITY : Number(high);
    const max = sign === undefined ? most : sign === '?' ? 1 : Number.POSITIVE_INFINITY;
    const where = `The quantifier ${text} at ${this.at - text.length}`;
    if (isNullable(item) && !(min === 1 && max === 1)) {
      throw new PatternError(
        `${where} repeats a part that can match the empty text: ${this.quote(start, this.at - text.length)}.`,
      );
    }
    if (max === Number.POSITIVE_INFINITY) {
      if (repeatsAlone(item)) {
        throw new PatternError(`${where} is a nested quantifier: it repeats a repetition. Remove one of them.`);
      }
      if (hasTwins(item)) {
        throw new PatternError(`${where} repeats alternatives that can match the same text. Remove one of them.`);
      }
    }
    if (max === 0) return empty;
    // A higher count cannot be reached. Built-in expressions, which may match more, have no such counts.
    const reachable = max === Number.POSITIVE_INFINITY ? max : Math.min(max, Math.max(min, MAX_MATCH_LENGTH + 1));
    return { type: 'repeat', item, min, max: reachable, lazy: lazy === '?' };
  }

  private quote(start: number, end: number): string {
    const text = this.source.slice(start, end);
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
  }

  private parseAtom(): Node {
    const character = this.next();
    if (character === '[') return this.toSet(this.parseClass());
    if (character === '.') return this.toSet(dot);
    if (character === '^') return { type: 'assert', kind: 'start', set: [] };
    if (character === '$') return { type: 'assert', kind: 'end', set: [] };
    if (character === '\\') return this.parseEscape();
    return this.toSingle(character.codePointAt(0)!);
  }

  private toSingle(code: number): Node {
    let node = this.singles.get(code);
    if (!node) {
      node = this.toSet(this.fold(single(code)));
      this.singles.set(code, node);
    }
    return node;
  }

  /** Equal sets become one object. */
  private toSet(set: CharSet): Node {
    this.work += set.length >>> 3;
    const key = set.join();
    let node = this.sets.get(key);
    if (!node) {
      this.ranges += set.length / 2;
      if (this.ranges > MAX_RANGES) {
        throw new PatternError(
          `The pattern has too many different classes: more than ${MAX_RANGES} ranges of characters.`,
        );
      }
      node = { type: 'set', set };
      this.sets.set(key, node);
    }
    return node;
  }

  private *parseGroup(): Generator<void, Node> {
    const start = this.at - 1;
    if (!this.take('?') || this.take(':')) return this.closeGroup(yield* this.parseChoice());
    const look = ['=', '!', '<=', '<!'].find((sign) => this.source.startsWith(sign, this.at));
    if (look !== undefined) return yield* this.parseLook(look, start);
    if (this.take('<')) {
      this.at = this.source.indexOf('>', this.at) + 1; // the name of the group
      return this.closeGroup(yield* this.parseChoice());
    }
    throw new PatternError(`Modifiers such as (?i:…), at ${start}, are not supported. Write classes such as [Aa].`);
  }

  private closeGroup(node: Node): Node {
    this.at++;
    return node;
  }

  private *parseLook(sign: string, start: number): Generator<void, Node> {
    const name = sign.startsWith('<') ? 'Lookbehind' : 'Lookahead';
    if (!this.options.allowLooks) throw new PatternError(`${name}, at ${start}, is not supported.`);
    this.at += sign.length;
    const node = this.closeGroup(yield* this.parseChoice());
    if (node.type !== 'set') throw new PatternError(`${name}, at ${start}, can contain only one character or class.`);
    const kind = ({ '=': 'before', '!': 'notBefore', '<=': 'after', '<!': 'notAfter' } as const)[sign]!;
    return { type: 'assert', kind, set: node.set };
  }

  private parseEscape(): Node {
    if (this.sees('b') || this.sees('B')) {
      return { type: 'assert', kind: this.next() === 'b' ? 'boundary' : 'noBoundary', set: wordCharacters };
    }
    if (/[1-9k]/.test(this.source[this.at]!)) {
      throw new PatternError(`The backreference at ${this.at - 1} is not supported.`);
    }
    return this.toSet(this.parseEscapedSet());
  }

  /** The escape after a backslash, in a class or outside. */
  private parseEscapedSet(): CharSet {
    const character = this.next();
    switch (character) {
      case 'd':
        return digits;
      case 'D':
        return negateCharSet(digits);
      case 'w':
        return wordCharacters;
      case 'W':
        return negateCharSet(wordCharacters);
      case 's':
        return spaces;
      case 'S':
        return negateCharSet(spaces);
      case 'p':
      case 'P': {
        const end = this.source.indexOf('}', this.at) + 1;
        const property = `\\${character}${this.source.slice(this.at, end)}`;
        this.at = end;
        return findPropertySet(property);
      }
      default:
        return this.fold(single(this.readEscapedCode(character)));
    }
  }

  private readEscapedCode(character: string): number {
    const control = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 }[character];
    if (control !== undefined) return control;
    if (character === 'c') return this.next().charCodeAt(0) % 32;
    if (character === 'x') return this.readHex(2);
    if (character !== 'u') return character.codePointAt(0)!; // a character of the syntax
    if (this.take('{')) {
      const code = Number.parseInt(this.source.slice(this.at), 16);
      this.at = this.source.indexOf('}', this.at) + 1;
      return code;
    }
    const high = this.readHex(4);
    const pair = /\\u([dD][c-fC-F][\da-fA-F]{2})/y;
    pair.lastIndex = this.at;
    const low = high >= 0xd800 && high < 0xdc00 ? pair.exec(this.source)?.[1] : undefined;
    if (low === undefined) return high;
    this.at = pair.lastIndex;
    return ((high - 0xd800) << 10) + (Number.parseInt(low, 16) - 0xdc00) + 0x10000;
  }

  private readHex(length: number): number {
    this.at += length;
    return Number.parseInt(this.source.slice(this.at - length, this.at), 16);
  }

  private parseClass(): CharSet {
    const isNegated = this.take('^');
    const ranges: (readonly [number, number])[] = [];
    const add = (set: CharSet): void => {
      for (let at = 0; at < set.length; at += 2) ranges.push([set[at]!, set[at + 1]!]);
    };
    while (!this.take(']')) {
      const first = this.parseClassAtom();
      // Classes such as \d cannot be the end of a range: with the flag `u` that is a syntax error.
      if (this.sees('-') && this.source[this.at + 1] !== ']') {
        this.at++;
        const last = this.parseClassAtom();
        add(this.fold([first.code!, last.code!]));
      } else add(first.set);
    }
    const set = createCharSet(ranges);
    return isNegated ? negateCharSet(set) : set;
  }

  private parseClassAtom(): { set: CharSet; code?: number } {
    const character = this.next();
    if (character !== '\\') return this.atomOf(character.codePointAt(0)!);
    const following = this.source[this.at]!;
    if (following === 'b') {
      this.at++;
      return this.atomOf(8);
    }
    if (/[dDwWsSpP]/.test(following)) return { set: this.parseEscapedSet() };
    return this.atomOf(this.readEscapedCode(this.next()));
  }

  private atomOf(code: number): { set: CharSet; code: number } {
    return { set: this.fold(single(code)), code };
  }

  private fold(set: CharSet): CharSet {
    return this.options.ignoreCase ? ignoreCase(set) : set;
  }

  /** The next code point. */
  private next(): string {
    const unit = this.source.charCodeAt(this.at);
    const character =
      (unit & 0xf800) === 0xd800 ? String.fromCodePoint(this.source.codePointAt(this.at)!) : this.source[this.at]!;
    this.at += character.length;
    return character;
  }

  private sees(character: string): boolean {
    return this.source[this.at] === character;
  }

  private take(character: string): boolean {
    if (!this.sees(character)) return false;
    this.at++;
    return true;
  }
}

const single = (code: number): CharSet => [code, code];

const nullable = new WeakMap<Node, boolean>();

/** Each node with items is inspected only once, because there may be many quantifiers around it. */
function isNullable(node: Node): boolean {
  if (node.type !== 'sequence' && node.type !== 'choice') return findNullable(node);
  let known = nullable.get(node);
  if (known === undefined) {
    known = findNullable(node);
    nullable.set(node, known);
  }
  return known;
}

function findNullable(node: Node): boolean {
  switch (node.type) {
    case 'set':
      return false;
    case 'assert':
      return true;
    case 'sequence':
      return node.items.every(isNullable);
    case 'choice':
      return node.items.some(isNullable);
    case 'repeat':
      return node.min === 0 || isNullable(node.item);
  }
}

/** Whether the node can be a single unbounded repetition, with nothing required around it: `a+`, `b?a+`, `x|a+`. */
function repeatsAlone(node: Node): boolean {
  switch (node.type) {
    case 'set':
    case 'assert':
      return false;
    case 'repeat':
      return node.max === Number.POSITIVE_INFINITY || (node.min <= 1 && repeatsAlone(node.item));
    case 'choice':
      return node.items.some(repeatsAlone);
    case 'sequence':
      return node.items.some(
        (item, index) => repeatsAlone(item) && node.items.every((other, at) => at === index || isNullable(other)),
      );
  }
}

/** Whether two alternatives of a repeated choice are equal, or match the same single character. */
function hasTwins(node: Node): boolean {
  if (node.type !== 'choice') return false;
  const ranges: [number, number][] = [];
  const others = new Set<string>();
  for (const item of node.items) {
    if (item.type === 'set') {
      ranges.push(...rangesOf(item.set));
      continue;
    }
    const key = JSON.stringify(item);
    if (others.has(key)) return true;
    others.add(key);
  }
  return haveOverlaps(ranges);
}

/** The number of characters of the shortest match. */
function lengthOf(node: Node): number {
  switch (node.type) {
    case 'set':
      return 1;
    case 'assert':
      return 0;
    case 'sequence':
      return node.items.reduce((sum, item) => sum + lengthOf(item), 0);
    case 'choice':
      return node.items.reduce((least, item) => Math.min(least, lengthOf(item)), Number.POSITIVE_INFINITY);
    case 'repeat':
      return node.min * lengthOf(node.item);
  }
}

/** The number of instructions of an expression, about. */
export function sizeOf(node: Node): number {
  switch (node.type) {
    case 'set':
    case 'assert':
      return 1;
    case 'sequence':
      return node.items.reduce((sum, item) => sum + sizeOf(item), 0);
    case 'choice':
      return node.items.reduce((sum, item) => sum + 2 + sizeOf(item), 0);
    case 'repeat': {
      const count = node.max === Number.POSITIVE_INFINITY ? Math.max(node.min, 1) : node.max;
      return 1 + count * (1 + sizeOf(node.item));
    }
  }
}
