import { Alphabet } from './alphabet.ts';
import type { CharSet } from './char-set.ts';
import type { AssertionKind, Node } from './parse-pattern.ts';

/** Instructions of a program. `a` and `b` are their operands. */
export const CHARACTER = 0; // a: set
export const SPLIT = 1; // a: where to go on first, b: second
export const JUMP = 2; // a: where to go on
export const ASSERT = 3; // a: index in `assertions`, b: set
export const MATCH = 4; // a: pattern

export const assertions: readonly AssertionKind[] = [
  'start',
  'end',
  'boundary',
  'noBoundary',
  'before',
  'notBefore',
  'after',
  'notAfter',
];

/** Several expressions as one list of instructions. */
export interface Program {
  readonly operations: Uint8Array;
  readonly a: Int32Array;
  readonly b: Int32Array;
  /** Where each expression begins. The first one begins at 0, and each ends where the next one begins. */
  readonly starts: readonly number[];
  readonly alphabet: Alphabet;
  /**
   * Classes that no assertion distinguishes before a position form a kind. Kind 0 is the start of the text.
   */
  readonly kindOf: Uint16Array;
  /** A class of each kind. */
  readonly kinds: readonly number[];
}

/** Instructions between two pauses, about. */
const SLICE_INSTRUCTIONS = 5000;

/**
 * Compiles expressions to instructions with the method of Thompson: the first branch of a SPLIT is preferred. Yields where other
 * work may run.
 */
export function* compileProgram(nodes: readonly Node[]): Generator<void, Program> {
  const writer = new Writer();
  const starts: number[] = [];
  let pauseAt = SLICE_INSTRUCTIONS;
  for (const [pattern, node] of nodes.entries()) {
    starts.push(writer.operations.length);
    writer.write(node);
    writer.add(MATCH, pattern, 0);
    if (writer.operations.length < pauseAt) continue;
    pauseAt = writer.operations.length + SLICE_INSTRUCTIONS;
    yield;
  }
  const alphabet = yield* Alphabet.create(writer.sets);
  yield;
  const looksBack = new Set<number>();
  for (const [index, operation] of writer.operations.entries()) {
    const kind = operation === ASSERT ? assertions[writer.a[index]!] : undefined;
    if (kind === 'boundary' || kind === 'noBoundary' || kind === 'after' || kind === 'notAfter') {
      looksBack.add(writer.b[index]!);
    }
  }
  return {
    operations: Uint8Array.from(writer.operations),
    a: Int32Array.from(writer.a),
    b: Int32Array.from(writer.b),
    starts,
    alphabet,
    ...findKinds(alphabet, [...looksBack]),
  };
}

function findKinds(alphabet: Alphabet, sets: readonly number[]): Pick<Program, 'kindOf' | 'kinds'> {
  const kinds = [alphabet.edge];
  const known = new Map<string, number>();
  const kindOf = new Uint16Array(alphabet.size);
  for (let index = 0; index < alphabet.edge; index++) {
    const key = sets.map((set) => (alphabet.has(set, index) ? 1 : 0)).join('');
    let kind = known.get(key);
    if (kind === undefined) {
      kind = kinds.length;
      known.set(key, kind);
      kinds.push(index);
    }
    kindOf[index] = kind;
  }
  return { kindOf, kinds };
}

class Writer {
  readonly operations: number[] = [];
  readonly a: number[] = [];
  readonly b: number[] = [];
  readonly sets: CharSet[] = [];
  private readonly setIndexes = new Map<string, number>();
  private readonly knownIndexes = new Map<CharSet, number>();

  add(operation: number, a: number, b: number): number {
    this.a.push(a);
    this.b.push(b);
    return this.operations.push(operation) - 1;
  }

  write(node: Node): void {
    switch (node.type) {
      case 'set':
        this.add(CHARACTER, this.indexOf(node.set), 0);
        return;
      case 'assert':
        this.add(ASSERT, assertions.indexOf(node.kind), this.indexOf(node.set));
        return;
      case 'sequence':
        for (const item of node.items) this.write(item);
        return;
      case 'choice':
        this.writeChoice(node.items);
        return;
      case 'repeat':
        this.writeRepeat(node);
    }
  }

  private writeChoice(items: readonly Node[]): void {
    const jumps: number[] = [];
    for (const [index, item] of items.entries()) {
      const isLast = index === items.length - 1;
      const split = isLast ? -1 : this.add(SPLIT, this.here + 1, 0);
      this.write(item);
      if (isLast) break;
      jumps.push(this.add(JUMP, 0, 0));
      this.b[split] = this.here;
    }
    for (const jump of jumps) this.a[jump] = this.here;
  }

  private writeRepeat({ item, min, max, lazy }: Node & { type: 'repeat' }): void {
    const isUnbounded = max === Number.POSITIVE_INFINITY;
    let last = this.here;
    for (let count = 0; count < min; count++) {
      last = this.here;
      this.write(item);
    }
    if (isUnbounded && min > 0) {
      // The last copy is the loop. A repeated item is never empty, so a loop always consumes.
      const split = this.add(SPLIT, 0, 0);
      this.branch(split, last, this.here, lazy);
      return;
    }
    if (isUnbounded) {
      const split = this.add(SPLIT, 0, 0);
      this.write(item);
      this.add(JUMP, split, 0);
      this.branch(split, split + 1, this.here, lazy);
      return;
    }
    const splits: number[] = [];
    for (let count = min; count < max; count++) {
      splits.push(this.add(SPLIT, 0, 0));
      this.write(item);
    }
    for (const split of splits) this.branch(split, split + 1, this.here, lazy);
  }

  private branch(split: number, body: number, exit: number, lazy: boolean): void {
    this.a[split] = lazy ? exit : body;
    this.b[split] = lazy ? body : exit;
  }

  private get here(): number {
    return this.operations.length;
  }

  private indexOf(set: CharSet): number {
    let index = this.knownIndexes.get(set);
    if (index !== undefined) return index;
    const key = set.join();
    index = this.setIndexes.get(key);
    if (index === undefined) {
      index = this.sets.push(set) - 1;
      this.setIndexes.set(key, index);
    }
    this.knownIndexes.set(set, index);
    return index;
  }
}
