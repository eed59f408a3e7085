import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const files = globSync('src/pipeline/**/*.ts').filter((path) => !path.endsWith('.test.ts'));

/** Lists the imported files of the repository, including types. */
const importsOf = (path: string): number =>
  new Set(readFileSync(path, 'utf8').match(/(?<=^(?:import|export)[^;]*? from ')\.[^']+/gm)).size;

it('no file of the pipeline imports more than twelve others', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.map(importsOf).some((count) => count > 5)).toBe(true);
  expect(files.filter((path) => importsOf(path) > 12)).toEqual([]);
});
