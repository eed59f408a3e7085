import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const src = join(import.meta.dirname, '../../src');
const sources = globSync('**/*.ts', { cwd: src, exclude: ['**/*.test.ts'] });
const exported =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm;

/** Name → the files that export it. */
const exporters = new Map<string, string[]>();
for (const path of sources) {
  const names = [...readFileSync(join(src, path), 'utf8').matchAll(exported)].map(([, name]) => name!);
  for (const name of new Set(names)) exporters.set(name, [...(exporters.get(name) ?? []), path]);
}

/** The folder of a wire. The wires are siblings: the same file has the same exports in each of them. */
const wireOf = (path: string): string | undefined =>
  /^providers\/([\w-]+(?:\/(?:images|embeddings))?)\//.exec(path)?.[1];

/** Whether files may share a name: each is in the folder of another wire, or is the page of types for clients. */
function mayShare(paths: readonly string[]): boolean {
  const inside = paths.filter((path) => path !== 'types.ts'); // its names are those of the public interface
  const wires = inside.map(wireOf);
  return inside.length < 2 || (!wires.includes(undefined) && new Set(wires).size === wires.length);
}

it('no two modules export one name, except the modules of sibling wires', () => {
  expect(exporters.size).toBeGreaterThan(1500);
  expect([...exporters].filter(([, paths]) => !mayShare(paths))).toEqual([]);
});

it('exported names use the standard terms', () => {
  const others = /Picture|Colour|Catalogue|Behaviour|Answer|^(?:MOST|LEAST)_|^(?:make|ask|tell|hold|mend)[A-Z]/;
  expect([...exporters.keys()].filter((name) => others.test(name))).toEqual([]);
});
