import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/*
 * The formatter writes a long object literal with one property per line. `...{ a, b }` in a literal keeps several on a
 * line, and hides from the reader that they are plain properties.
 */
const root = join(import.meta.dirname, '../..');
const files = globSync('{src,tests,bench,scripts,examples,bin}/**/*.{ts,js,mjs}', {
  cwd: root,
  exclude: ['**/node_modules'], // that of the bench, after its first run
});

const packed = /\.\.\.\s*\{/g;

/** Lists the lines of a source that spread an object literal. */
const findPacked = (file: string, text: string): string[] =>
  [...text.matchAll(packed)].map(({ index }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${file}:${line} spreads an object literal. Write its properties in the outer literal, one per line.`;
  });

it('no literal spreads another literal', () => {
  const own = join('tests', 'architecture', 'packed-literals.test.ts');
  expect(files.length).toBeGreaterThan(2000);
  expect(
    files.filter((file) => file !== own).flatMap((file) => findPacked(file, readFileSync(join(root, file), 'utf8'))),
  ).toEqual([]);
});

it('finds literals that are spread on one line and on several, and no other spreads', () => {
  const text = 'const a = {\n  ...{ b: 1, c: 2 },\n  ...\n  {\n    d: 3,\n  },\n  ...(e && { f: 4 }),\n  ...g,\n};\n';
  expect(findPacked('a.ts', text).map((found) => found.split(' ')[0])).toEqual(['a.ts:2', 'a.ts:3']);
});
