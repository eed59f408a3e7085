import { type Automaton, holds } from './automaton.ts';
import { ASSERT, CHARACTER, JUMP, MATCH, type Program, SPLIT } from './program.ts';

/** Steps that a pursuit may repeat for each character of the text: bounds texts that are made to be slow. */
const MAX_REPEATS = 8;
const FREE_REPEATS = 65_536;

/** The text that a pursuit reads. Positions count UTF-16 code units from the start of the text. */
export interface PursuedText {
  /** The code point at a position. */
  codeAt(position: number): number;
  /** The class of the character before a position; the edge at the start. */
  classBefore(position: number): number;
  /** Whether the position is between the halves of a surrogate pair. */
  splitsPair(position: number): boolean;
}

/**
 * Finds the matches of one expression where the automaton says that there are some: the leftmost, and of those that begin
 * there the preferred one, as JavaScript does. It is a simulation of the expression's threads in order of preference
 * (Pike), so each character takes at most one visit of each instruction.
 */
export class Pursuit {
  /** Instructions that were visited. */
  work = 0;
  /** The match so far, if there is one that preferred attempts may still replace. */
  private matchStart = -1;
  private matchEnd = -1;
  /** No match may begin before it: the end of the last one. */
  private from = 0;
  /** Characters before it were consumed. */
  private at = -1;
  private kind = 0;
  /** The first `count` of them are attempts in progress, in order of preference. */
  private threads: number[] = [];
  private threadStarts: number[] = [];
  private count = 0;
  private spare: number[] = [];
  private spareStarts: number[] = [];
  /** Where the last match ends that the automaton has reported. */
  private reported = 0;
  private repeated = 0;
  private readonly automaton: Automaton;
  private readonly program: Program;
  private readonly pattern: number;
  private readonly maxLength: number;
  private readonly marks: Uint32Array;
  private mark = 0;
  private readonly offset: number;
  private readonly stack: number[] = [];

  constructor(automaton: Automaton, pattern: number, maxLength: number) {
    const { program } = automaton;
    this.automaton = automaton;
    this.program = program;
    this.pattern = pattern;
    this.maxLength = maxLength;
    this.offset = program.starts[pattern]!;
    this.marks = new Uint32Array((program.starts[pattern + 1] ?? program.operations.length) - this.offset);
  }

  /** Creates one that goes on from here with another text. */
  fork(): Pursuit {
    const copy = new Pursuit(this.automaton, this.pattern, this.maxLength);
    copy.matchStart = this.matchStart;
    copy.matchEnd = this.matchEnd;
    copy.from = this.from;
    copy.at = this.at;
    copy.kind = this.kind;
    copy.threads = this.threads.slice(0, this.count);
    copy.threadStarts = this.threadStarts.slice(0, this.count);
    copy.count = this.count;
    copy.reported = this.reported;
    copy.repeated = this.repeated;
    return copy;
  }

  /** Whether a match waits for the end of preferred attempts. */
  get isOpen(): boolean {
    return this.matchStart >= 0;
  }

  /** No further match begins before it. */
  get lowest(): number {
    const lowest = this.count > 0 ? Math.min(this.threadStarts[0]!, this.at) : this.at;
    return this.isOpen ? Math.min(lowest, this.matchStart) : lowest;
  }

  /** Notes that the automaton has seen the end of a match. @param idleAt no attempt that began before it was in progress */
  report(end: number, idleAt: number, text: PursuedText): void {
    this.reported = end;
    if (this.isOpen) return;
    const first = Math.max(this.from, idleAt, end - this.maxLength);
    if (this.at < first) this.restart(first, text);
  }

  /**
   * Consumes the text up to a position.
   *
   * @param isEnd the text ends there
   * @param maxWork stop after about that many instructions
   * @returns whether it came that far
   */
  advance(
    to: number,
    isEnd: boolean,
    maxWork: number,
    text: PursuedText,
    onMatch: (pattern: number, start: number, end: number) => void,
  ): boolean {
    const stopAt = this.work + maxWork;
    const { alphabet, kindOf } = this.program;
    for (;;) {
      if (this.isOpen && this.count === 0) this.close(to, text, onMatch);
      if (this.reported <= this.from && !this.isOpen) return true;
      if (this.at >= to) {
        if (!isEnd || (this.count === 0 && !this.isOpen)) return true;
        this.step(alphabet.edge);
        if (!this.isOpen) return true;
        continue;
      }
      if (this.work >= stopAt) return false;
      this.expire(text);
      const code = text.codeAt(this.at);
      const characterClass = alphabet.classOf(code);
      this.step(characterClass);
      this.at += code > 0xffff ? 2 : 1;
      this.kind = kindOf[characterClass]!;
    }
  }

  /** Gives up attempts that are longer than a match may be. */
  private expire(text: PursuedText): void {
    const oldest = this.at - this.maxLength;
    if (this.count === 0 || this.threadStarts[0]! >= oldest) return;
    if (!this.isOpen) {
      // Younger attempts may have merged with the ones that are given up: those begin again.
      this.restart(Math.max(this.from, this.at - (this.maxLength >>> 1)), text);
      return;
    }
    let expired = 0;
    while (expired < this.count && this.threadStarts[expired]! < oldest) expired++;
    this.threads.copyWithin(0, expired, this.count);
    this.threadStarts.copyWithin(0, expired, this.count);
    this.count -= expired;
  }

  private restart(position: number, text: PursuedText): void {
    this.count = 0;
    this.at = text.splitsPair(position) ? position + 1 : position;
    this.kind = this.kindBefore(this.at, text);
  }

  private kindBefore(at: number, text: PursuedText): number {
    return at === 0 ? 0 : this.program.kindOf[text.classBefore(at)]!;
  }

  /** The match is final. */
  private close(to: number, text: PursuedText, onMatch: (pattern: number, start: number, end: number) => void): void {
    const start = this.matchStart;
    let end = this.matchEnd;
    const again = Math.min(this.at, to) - end;
    if (this.reported > end && again > 0) {
      // A text that is made to be slow has many short matches that each could have been long: it loses what was looked at.
      if (this.repeated + again > MAX_REPEATS * this.at + FREE_REPEATS) end += again;
      else this.repeated += again;
    }
    this.matchStart = -1;
    this.from = end;
    this.restart(end, text);
    onMatch(this.pattern, start, end);
  }

  /** Consumes a character; the edge is the end of the text. */
  private step(characterClass: number): void {
    const { operations, a, b, alphabet } = this.program;
    const { offset, threads, threadStarts } = this;
    const next = this.spare;
    const nextStarts = this.spareStarts;
    const marks = this.marks;
    const stack = this.stack;
    const kind = this.kind;
    if (this.mark === 0xffffffff) {
      marks.fill(0);
      this.mark = 0;
    }
    const mark = ++this.mark;
    let nextCount = 0;
    const count = this.count + (this.isOpen ? 0 : 1);
    for (let index = 0; index < count; index++) {
      const isNew = index === this.count;
      const start = isNew ? this.at : threadStarts[index]!;
      stack.push(isNew ? offset : threads[index]!);
      let isMatch = false;
      while (stack.length > 0) {
        const at = stack.pop()!;
        if (marks[at - offset] === mark) continue;
        marks[at - offset] = mark;
        this.work++;
        const operation = operations[at];
        if (operation === CHARACTER) {
          if (alphabet.has(a[at]!, characterClass)) {
            next[nextCount] = at + 1;
            nextStarts[nextCount++] = start;
          }
        } else if (operation === SPLIT) stack.push(b[at]!, a[at]!);
        else if (operation === JUMP) stack.push(a[at]!);
        else if (operation === ASSERT) {
          if (holds(this.program, at, kind, characterClass)) stack.push(at + 1);
        } else if (operation === MATCH) {
          isMatch = true;
          break;
        }
      }
      if (isMatch) {
        stack.length = 0;
        this.matchStart = start;
        this.matchEnd = this.at;
        break; // what is left is less preferred
      }
    }
    this.threads = next;
    this.threadStarts = nextStarts;
    this.spare = threads;
    this.spareStarts = threadStarts;
    this.count = nextCount;
  }
}
