import { finishSteps } from './finish-steps.ts';

/** A set of code points as a flat, sorted list of bounds: `[first, last, first, last, …]`. Ranges never touch. */
export type CharSet = readonly number[];

export const MAX_CODE_POINT = 0x10ffff;

/** Sorts ranges and merges those that overlap or touch. */
export function createCharSet(ranges: readonly (readonly [number, number])[]): CharSet {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const set: number[] = [];
  for (const [first, last] of sorted) {
    if (set.length > 0 && first <= set.at(-1)! + 1) set[set.length - 1] = Math.max(set.at(-1)!, last);
    else set.push(first, last);
  }
  return set;
}

export const rangesOf = (set: CharSet): [number, number][] =>
  Array.from({ length: set.length / 2 }, (_, index) => [set[2 * index]!, set[2 * index + 1]!]);

/** Whether a code point is in two of the ranges. */
export function haveOverlaps(ranges: readonly (readonly [number, number])[]): boolean {
  const sorted = [...ranges].sort((one, other) => one[0] - other[0]);
  return sorted.some(([first], index) => index > 0 && first <= sorted[index - 1]![1]);
}

export function negateCharSet(set: CharSet): CharSet {
  const negated: number[] = [];
  let next = 0;
  for (const [first, last] of rangesOf(set)) {
    if (first > next) negated.push(next, first - 1);
    next = last + 1;
  }
  if (next <= MAX_CODE_POINT) negated.push(next, MAX_CODE_POINT);
  return negated;
}

/** Adds the other case of each character, if that is a single character. Meant for letters of expressions, not for `\P{…}`. */
export function ignoreCase(set: CharSet): CharSet {
  const ranges = rangesOf(set);
  for (const [first, last] of rangesOf(set)) {
    for (let code = first; code <= Math.min(last, 0xffff); code++) {
      const character = String.fromCodePoint(code);
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        if (other !== character && other.length === 1) ranges.push([other.charCodeAt(0), other.charCodeAt(0)]);
      }
    }
  }
  return createCharSet(ranges);
}

/** Whether the block of 1,024 code points is unassigned or private: no property distinguishes its characters. */
function isUniform(first: number): boolean {
  const plane = first >>> 16;
  const hasCharacters = plane < 4 || plane === 14;
  return !hasCharacters && (first & 0xffff) !== 0xfc00; // the last block of a plane ends with two noncharacters
}

const propertySets = new Map<string, CharSet>();

/**
 * Returns the characters of a property escape such as `\p{Script=Greek}`, as the JavaScript engine defines them.
 *
 * @throws {SyntaxError} if the engine does not know it
 */
export const findPropertySet = (property: string): CharSet => finishSteps(loadPropertySet(property));

/** Blocks of characters that are inspected between two pauses. */
const SLICE_BLOCKS = 64;

/** Does the same as `findPropertySet`. Yields where other work may run. */
export function* loadPropertySet(property: string): Generator<void, CharSet> {
  const known = propertySets.get(property);
  if (known) return known;
  const runs = new RegExp(`${property}+`, 'gu');
  const one = new RegExp(`^${property}$`, 'u');
  const ranges: [number, number][] = [];
  // Blocks end where surrogates change from high to low: there two of them would read as one character.
  for (let first = 0; first <= MAX_CODE_POINT; first += 0x400) {
    if ((first >>> 10) % SLICE_BLOCKS === SLICE_BLOCKS - 1) yield;
    if (isUniform(first)) {
      if (one.test(String.fromCodePoint(first))) ranges.push([first, first + 0x3ff]);
      continue;
    }
    const block = String.fromCodePoint(...Array.from({ length: 0x400 }, (_, offset) => first + offset));
    const unitsPerCharacter = first > 0xffff ? 2 : 1;
    for (const { 0: run, index } of block.matchAll(runs)) {
      const start = first + index / unitsPerCharacter;
      ranges.push([start, start + run.length / unitsPerCharacter - 1]);
    }
  }
  const set = createCharSet(ranges);
  if (propertySets.size < 1000) propertySets.set(property, set); // there are fewer properties than that
  return set;
}

const of = (...ranges: [number, number][]): CharSet => createCharSet(ranges);

export const digits = of([0x30, 0x39]);
export const wordCharacters = of([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
export const lineEnds = of([0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]);
export const spaces = of(
  ...([
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ] satisfies [number, number][]),
);
