import { ASSERT, CHARACTER, JUMP, MATCH, type Program, SPLIT } from './program.ts';

/** Entries of the table of transitions, 4 bytes each. When they are used up the table starts over. */
const MAX_ENTRIES = 1024 * 1024;
/** Threads of all states together. Each takes about 10 bytes. */
const MAX_THREADS = 1024 * 1024;
/** An entry that was not needed yet. Entries below it are transitions with matches. */
export const UNKNOWN = -1;

/** Where the attempts of all expressions are, between two characters. */
export interface State {
  /** The instructions to go on with, ascending. Empty: no attempt is in progress. */
  readonly threads: Int32Array;
  /** The kind of the character before. */
  readonly kind: number;
}

/** A transition that ends matches before the character that it is for. */
export interface MatchingTransition {
  readonly next: number;
  readonly patterns: readonly number[];
}

/**
 * Runs all expressions of a program at once, at one table look-up for each character. The states are made when a text first
 * needs them, and are shared by all texts. It reports where matches end; a `Pursuit` finds where they begin.
 *
 * A state is named by the index of its row. Indexes are valid until `generation` changes.
 */
export class Automaton {
  readonly program: Program;
  /** Rows of one entry for each class: the index of the next row, `UNKNOWN`, or `-2 - n` for the n-th matching transition. */
  table: Int32Array;
  /** Rows below this are states without attempts. */
  readonly idleEnd: number;
  generation = 0;
  readonly matching: MatchingTransition[] = [];
  private readonly states: State[] = [];
  /** Rows of states by the hash of the state. */
  private readonly rows = new Map<number, number[]>();
  /** The instructions of the state that is made, one bit each. */
  private readonly bits: Uint32Array;
  private threads = 0;
  private readonly width: number;
  /** State of a new attempt after one character, by kind and class. */
  private readonly begun = new Map<number, Int32Array>();
  private readonly marks: Uint32Array;
  private mark = 0;
  private readonly stack: number[] = [];

  constructor(program: Program) {
    this.program = program;
    this.width = program.alphabet.size;
    this.marks = new Uint32Array(program.operations.length);
    this.bits = new Uint32Array((program.operations.length >>> 5) + 1);
    this.table = new Int32Array(0);
    this.idleEnd = program.kinds.length * this.width;
    this.reset();
  }

  stateAt(row: number): State {
    return this.states[row / this.width]!;
  }

  /** The row of the state without attempts after a character of the kind. */
  idleRow(kind: number): number {
    return kind * this.width;
  }

  rowOf(state: State): number {
    const hash = hashOf(state);
    const known = this.rows.get(hash)?.find((row) => isEqual(this.stateAt(row), state));
    if (known !== undefined) return known;
    this.threads += state.threads.length;
    const isFull = (this.states.length + 1) * this.width > MAX_ENTRIES || this.threads > MAX_THREADS;
    if (isFull && this.states.length > this.program.kinds.length + 1) {
      this.generation++;
      this.reset();
      this.threads = state.threads.length;
    }
    return this.add(state, hash);
  }

  private reset(): void {
    this.states.length = 0;
    this.matching.length = 0;
    this.rows.clear();
    this.begun.clear();
    for (let kind = 0; kind < this.program.kinds.length; kind++) this.addIdle({ threads: new Int32Array(0), kind });
  }

  private addIdle(state: State): void {
    this.add(state, hashOf(state));
  }

  private add(state: State, hash: number): number {
    const row = this.states.length * this.width;
    if (row + this.width > this.table.length) {
      const table = new Int32Array(Math.max(2 * this.table.length, 64 * this.width));
      table.set(this.table);
      this.table = table;
    }
    this.table.fill(UNKNOWN, row, row + this.width);
    this.states.push(state);
    const rows = this.rows.get(hash);
    if (rows) rows.push(row);
    else this.rows.set(hash, [row]);
    return row;
  }

  /**
   * Fills the entry of a row for a class. It may start the table over.
   *
   * @returns the transition, and the number of instructions that it took
   */
  step(row: number, characterClass: number): MatchingTransition & { work: number } {
    const { generation } = this;
    const { threads, kind } = this.stateAt(row);
    const patterns: number[] = [];
    const next: number[] = [];
    let work = this.follow(threads, kind, characterClass, next, patterns);
    const key = kind * this.width + characterClass;
    let begun = this.begun.get(key);
    if (!begun) {
      const first: number[] = [];
      work += this.follow(this.program.starts, kind, characterClass, first, []);
      begun = Int32Array.from(first);
      this.begun.set(key, begun);
    }
    const all = this.sort(next, begun);
    work += all.length;
    const nextRow = this.rowOf({ threads: all, kind: this.program.kindOf[characterClass]! });
    if (generation === this.generation) {
      this.table[row + characterClass] = patterns.length === 0 ? nextRow : -2 - this.matching.length;
      if (patterns.length > 0) this.matching.push({ next: nextRow, patterns });
    }
    return { next: nextRow, patterns, work };
  }

  /** Returns the instructions of two lists, ascending, each once. */
  private sort(next: readonly number[], begun: Int32Array): Int32Array {
    const bits = this.bits;
    const count = next.length + begun.length;
    if (count * 32 < bits.length) return Int32Array.from(new Set([...next, ...begun])).sort();
    for (let index = 0; index < next.length; index++) bits[next[index]! >>> 5]! |= 1 << (next[index]! & 31);
    for (let index = 0; index < begun.length; index++) bits[begun[index]! >>> 5]! |= 1 << (begun[index]! & 31);
    const sorted = new Int32Array(count);
    let length = 0;
    for (let word = 0; word < bits.length; word++) {
      for (let left = bits[word]!; left !== 0; left &= left - 1) {
        sorted[length++] = (word << 5) + 31 - Math.clz32(left & -left);
      }
      bits[word] = 0;
    }
    return length === count ? sorted : sorted.slice(0, length);
  }

  /** Lets threads consume a character. Adds the instructions to go on with, and the patterns that end before it. */
  private follow(
    threads: ArrayLike<number>,
    kind: number,
    characterClass: number,
    next: number[],
    patterns: number[],
  ): number {
    const { operations, a, b, alphabet } = this.program;
    const marks = this.marks;
    const stack = this.stack;
    const mark = this.newMark();
    let work = threads.length;
    for (let index = threads.length - 1; index >= 0; index--) {
      const thread = threads[index]!;
      if (operations[thread] !== CHARACTER) stack.push(thread);
      else if (marks[thread] !== mark) {
        marks[thread] = mark;
        if (alphabet.has(a[thread]!, characterClass)) next.push(thread + 1);
      }
    }
    while (stack.length > 0) {
      const at = stack.pop()!;
      if (marks[at] === mark) continue;
      marks[at] = mark;
      work++;
      switch (operations[at]) {
        case CHARACTER:
          if (alphabet.has(a[at]!, characterClass)) next.push(at + 1);
          break;
        case SPLIT:
          stack.push(b[at]!, a[at]!);
          break;
        case JUMP:
          stack.push(a[at]!);
          break;
        case ASSERT:
          if (holds(this.program, at, kind, characterClass)) stack.push(at + 1);
          break;
        case MATCH:
          patterns.push(a[at]!);
      }
    }
    return work;
  }

  private newMark(): number {
    if (this.mark === 0xffffffff) {
      this.marks.fill(0);
      this.mark = 0;
    }
    return ++this.mark;
  }
}

function hashOf({ threads, kind }: State): number {
  let hash = kind;
  for (let index = 0; index < threads.length; index++) hash = (Math.imul(hash, 0x01000193) ^ threads[index]!) | 0;
  return hash ^ (hash >>> 15);
}

function isEqual(state: State, other: State): boolean {
  const { threads } = state;
  const { length } = threads;
  if (state.kind !== other.kind || length !== other.threads.length) return false;
  for (let index = 0; index < length; index++) if (threads[index] !== other.threads[index]) return false;
  return true;
}

/** Whether the assertion holds between a character of the kind and one of the class. */
export function holds(program: Program, at: number, kind: number, characterClass: number): boolean {
  const { alphabet, kinds, a, b } = program;
  const set = b[at]!;
  const before = kinds[kind]!;
  switch (a[at]) {
    case 0:
      return kind === 0;
    case 1:
      return characterClass === alphabet.edge;
    case 2:
      return alphabet.has(set, before) !== alphabet.has(set, characterClass);
    case 3:
      return alphabet.has(set, before) === alphabet.has(set, characterClass);
    case 4:
      return alphabet.has(set, characterClass);
    case 5:
      return !alphabet.has(set, characterClass);
    case 6:
      return alphabet.has(set, before);
    default:
      return !alphabet.has(set, before);
  }
}
