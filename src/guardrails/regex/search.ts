import { Automaton, type State, UNKNOWN } from './automaton.ts';
import { finishSteps } from './finish-steps.ts';
import { MAX_MATCH_LENGTH, type Node } from './parse-pattern.ts';
import { compileProgram, type Program } from './program.ts';
import { Pursuit, type PursuedText } from './pursuit.ts';

/** An expression that is searched for. */
export interface SearchedPattern {
  node: Node;
  /** In UTF-16 code units. */
  maxLength?: number;
}

/** Expressions that are searched for together. */
export class PatternSet {
  readonly automaton: Automaton;
  readonly maxLengths: readonly number[];
  /** The longest match of any expression. */
  readonly maxLength: number;

  private constructor(program: Program, patterns: readonly SearchedPattern[]) {
    this.automaton = new Automaton(program);
    this.maxLengths = patterns.map(({ maxLength = MAX_MATCH_LENGTH }) => maxLength);
    this.maxLength = this.maxLengths.reduce((one, other) => Math.max(one, other), 0);
  }

  static create(patterns: readonly SearchedPattern[]): PatternSet {
    return finishSteps(PatternSet.createInSlices(patterns));
  }

  /** Yields where other work may run. */
  static *createInSlices(patterns: readonly SearchedPattern[]): Generator<void, PatternSet> {
    return new PatternSet(yield* compileProgram(patterns.map(({ node }) => node)), patterns);
  }
}

/** Called when a match is final. Matches of one pattern come in order and never overlap. */
export type OnMatch = (pattern: number, start: number, end: number) => void;

/** Units of work of a table look-up and of an instruction. A unit is about 3 ns. */
const LOOKUP_WORK = 1;
const INSTRUCTION_WORK = 8;
const PURSUIT_WORK = 16;

/**
 * Searches a text that arrives in pieces. The matches do not depend on where the pieces end.
 *
 * Call `add`, then `advance` until it returns true. `release` frees the text before a position.
 */
export class Search implements PursuedText {
  /** No match that is not reported yet begins before it. */
  settled = 0;
  /** Units of work so far, about. */
  work = 0;
  /** Units of work that `onMatch` adds for what it does itself. */
  extraWork = 0;
  private readonly set: PatternSet;
  private readonly automaton: Automaton;
  private readonly onMatch: OnMatch;
  private readonly pursuits: (Pursuit | undefined)[] = [];
  /** Pursuits that have not consumed all that the automaton has. */
  private readonly behind: Pursuit[] = [];
  /** Pursuits with an open match: they follow the automaton at each character. */
  private open: Pursuit[] = [];
  /** The text from `base`. */
  private held = '';
  private base = 0;
  /** Text that the automaton has not consumed, from `pieceAt`. */
  private piece = '';
  private pieceAt = 0;
  private position = 0;
  private idleAt = 0;
  private row: number;
  private state: State;
  private generation: number;
  private hasEnded = false;
  private isFinished = false;

  constructor(set: PatternSet, onMatch: OnMatch) {
    this.set = set;
    this.automaton = set.automaton;
    this.onMatch = onMatch;
    this.row = this.automaton.idleRow(0);
    this.state = this.automaton.stateAt(this.row);
    this.generation = this.automaton.generation;
  }

  add(piece: string): void {
    this.held += piece;
    this.piece = this.pieceAt < this.piece.length ? this.piece.slice(this.pieceAt) + piece : piece;
    this.pieceAt = 0;
  }

  end(): void {
    this.hasEnded = true;
  }

  /** The text between two positions that are not released. */
  read(start: number, end: number): string {
    return this.held.slice(start - this.base, end - this.base);
  }

  /** Creates a search that goes on from here with another text. All that was added must be searched. */
  fork(onMatch: OnMatch): Search {
    const copy = new Search(this.set, onMatch);
    copy.settled = this.settled;
    copy.held = this.held;
    copy.base = this.base;
    copy.position = this.position;
    copy.idleAt = this.idleAt;
    copy.row = this.row;
    copy.state = this.state;
    copy.generation = this.generation;
    for (const [pattern, pursuit] of this.pursuits.entries()) {
      const forked = pursuit?.fork();
      copy.pursuits[pattern] = forked;
      if (forked?.isOpen) copy.open.push(forked);
    }
    return copy;
  }

  /** Frees the text before a position, except for the part that the search still needs. */
  release(before: number): void {
    const keep = Math.min(before, this.settled) - 2; // 2: the character before is needed for boundaries
    if (keep <= this.base) return;
    this.held = this.held.slice(keep - this.base);
    this.base = keep;
  }

  codeAt(position: number): number {
    return this.held.codePointAt(position - this.base)!;
  }

  classBefore(position: number): number {
    const { alphabet } = this.automaton.program;
    const at = position - this.base;
    if (at <= 0) return alphabet.edge;
    return alphabet.classOf(this.held.codePointAt(at - (this.splitsPair(position - 1) ? 2 : 1))!);
  }

  splitsPair(position: number): boolean {
    const at = position - this.base;
    return at > 0 && this.held.codePointAt(at - 1)! > 0xffff;
  }

  /**
   * Searches on.
   *
   * @param maxWork in units; about as many as have been done when it returns
   * @returns whether all of the text so far is searched
   */
  advance(maxWork = Number.POSITIVE_INFINITY): boolean {
    if (this.generation !== this.automaton.generation) {
      this.row = this.automaton.rowOf(this.state); // the table has started over
      this.generation = this.automaton.generation;
    }
    const isDone = this.run(maxWork);
    this.state = this.automaton.stateAt(this.row);
    this.generation = this.automaton.generation;
    this.settled = this.findSettled();
    return isDone;
  }

  private run(maxWork: number): boolean {
    const stopAt = this.work + maxWork;
    for (;;) {
      while (this.behind.length > 0) {
        const pursuit = this.behind.at(-1)!;
        const before = pursuit.work;
        const left = Math.max(1, (stopAt - this.work) / INSTRUCTION_WORK);
        const isThere = pursuit.advance(this.position, this.isFinished, left, this, this.onMatch);
        this.work += PURSUIT_WORK + (pursuit.work - before) * INSTRUCTION_WORK + this.extraWork;
        this.extraWork = 0;
        if (!isThere) return false;
        this.behind.pop();
        if (pursuit.isOpen) this.open.push(pursuit);
      }
      if (this.work >= stopAt) return false;
      const length = this.findEnd();
      if (this.pieceAt >= length) {
        if (!this.hasEnded || this.isFinished) return true;
        this.isFinished = true;
        this.work += this.take(this.automaton.program.alphabet.edge, 0);
      } else if (this.open.length > 0) this.work += this.takeNext();
      else this.work += this.runAhead(length, stopAt - this.work);
    }
  }

  /** Where the piece ends for now: a high surrogate waits for its other half. */
  private findEnd(): number {
    const { length } = this.piece;
    if (this.hasEnded || length === 0) return length;
    return (this.piece.charCodeAt(length - 1) & 0xfc00) === 0xd800 ? length - 1 : length;
  }

  /** Follows the table until something happens. @returns the work */
  private runAhead(length: number, maxWork: number): number {
    const { automaton, piece } = this;
    const { idleEnd, program } = automaton;
    const { latin, pages } = program.alphabet;
    const { table } = automaton;
    const start = this.pieceAt;
    const end = Math.min(length, start + maxWork / LOOKUP_WORK + 1);
    let { row } = this;
    let idle = -1;
    let index = start;
    for (; index < end; index++) {
      const unit = piece.charCodeAt(index);
      if ((unit & 0xf800) === 0xd800) break; // half of a pair, perhaps
      const next = table[row + (unit < 256 ? latin[unit]! : pages[unit >>> 8]![unit & 0xff]!)]!;
      if (next < idleEnd) {
        if (next < 0) break;
        idle = index + 1;
      }
      row = next;
    }
    this.row = row;
    const taken = index - start;
    if (idle >= 0) this.idleAt = this.position + (idle - start);
    this.position += taken;
    this.pieceAt = index;
    return taken * LOOKUP_WORK + (index < end ? this.takeNext() : 0);
  }

  /** Consumes the next character of the piece. @returns the work */
  private takeNext(): number {
    const code = this.piece.codePointAt(this.pieceAt)!;
    const length = code > 0xffff ? 2 : 1;
    this.pieceAt += length;
    return this.take(this.automaton.program.alphabet.classOf(code), length);
  }

  private take(characterClass: number, length: number): number {
    const { automaton } = this;
    const entry = automaton.table[this.row + characterClass]!;
    let work = LOOKUP_WORK;
    let next = entry;
    let patterns: readonly number[] | undefined;
    if (entry === UNKNOWN) {
      const made = automaton.step(this.row, characterClass);
      next = made.next;
      patterns = made.patterns;
      work += made.work * INSTRUCTION_WORK;
    } else if (entry < 0) {
      const matching = automaton.matching[-2 - entry]!;
      next = matching.next;
      patterns = matching.patterns;
    }
    const end = this.position;
    this.position += length;
    this.row = next;
    if (patterns) for (const pattern of patterns) this.report(pattern, end);
    if (next < automaton.idleEnd) this.idleAt = this.position;
    return this.open.length === 0 ? work : work + this.followOpen();
  }

  /** Takes the open pursuits along. One with more work to do than for a character goes behind. @returns the work */
  private followOpen(): number {
    let work = 0;
    let isChanged = false;
    for (const pursuit of this.open) {
      const before = pursuit.work;
      const isThere = pursuit.advance(this.position, this.isFinished, 1, this, this.onMatch);
      work += PURSUIT_WORK + (pursuit.work - before) * INSTRUCTION_WORK;
      if (!isThere) this.behind.push(pursuit);
      if (!isThere || !pursuit.isOpen) isChanged = true;
    }
    if (isChanged) this.open = this.open.filter((pursuit) => pursuit.isOpen && !this.behind.includes(pursuit));
    return work;
  }

  private report(pattern: number, end: number): void {
    let pursuit = this.pursuits[pattern];
    if (!pursuit) {
      pursuit = new Pursuit(this.automaton, pattern, this.set.maxLengths[pattern]!);
      this.pursuits[pattern] = pursuit;
    }
    const wasOpen = pursuit.isOpen;
    pursuit.report(end, this.idleAt, this);
    if (!wasOpen) this.behind.push(pursuit);
  }

  private findSettled(): number {
    if (this.isFinished && this.behind.length === 0) return this.position;
    let settled = Math.max(this.idleAt, this.position - this.set.maxLength - 2);
    for (const pursuits of [this.open, this.behind]) {
      for (const pursuit of pursuits) settled = Math.min(settled, pursuit.lowest);
    }
    return Math.max(settled, this.settled);
  }
}

/** Finds all matches in a text. */
export function findMatches(set: PatternSet, text: string): { pattern: number; start: number; end: number }[] {
  const matches: { pattern: number; start: number; end: number }[] = [];
  const search = new Search(set, (pattern, start, end) => matches.push({ pattern, start, end }));
  search.add(text);
  search.end();
  search.advance();
  return matches;
}
