import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const sources = globSync('{src,tests,bench,scripts}/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] });
const docs = globSync('docs/**/*.md', { cwd: root });

/** Finds the names of sources in a text, as paths or ends of paths: `routes.ts`, `http/routes.ts`. Patterns do not count. */
const namesIn = (text: string): string[] => text.match(/(?<![\w.*<>-])[\w][\w./-]*\.ts\b/g) ?? [];
const isThere = (name: string): boolean => sources.some((path) => path === name || path.endsWith(`/${name}`));

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md', ...docs])('%s names no missing source', (path) =>
  expect(namesIn(read(path)).filter((name) => !isThere(name))).toEqual([]));

const commentsOf = (path: string): string[] => read(path).match(/^\s*\/?\*.*$|\/\/.*$/gm) ?? [];

it('comments name no missing source', () => {
  const named = sources.flatMap((path) => commentsOf(path).flatMap((comment) => namesIn(comment)));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

it('every documentation URL leads to a page that exists', () => {
  const pages = sources.flatMap((path) =>
    [...read(path).matchAll(/\bdocsUrl\([`']([\w/-]+)/g)].map(([, page]) => page),
  );
  expect(pages.length).toBeGreaterThan(3);
  expect(pages.filter((page) => !docs.includes(`docs/${page}.md`))).toEqual([]);
});

it('the documentation URL is written in one place', () => {
  const holders = sources.filter((path) => path.startsWith('src/') && read(path).includes('headgate.dev'));
  expect(holders.filter((path) => !path.endsWith('.test.ts'))).toEqual(['src/domain/docs-url.ts']);
});

it('the folders of ARCHITECTURE.md are those of src/', () => {
  const rows = read('ARCHITECTURE.md').match(/^\| `.*?\|/gm) ?? [];
  const drawn = rows.flatMap((row) => [...row.matchAll(/`(\w+)\/`/g)].map(([, name]) => name));
  const there = new Set(sources.flatMap((path) => /^src\/(\w+)\//.exec(path)?.[1] ?? []));
  expect(drawn.sort()).toEqual([...there].sort());
});

it('comments cite choices by a number that the list of choices has', () => {
  const listed = read('docs/reference/choices.md').match(/(?<=^- <a id="choice-)\d+/gm) ?? [];
  const numbers = new Set(listed);
  expect(listed.length, 'each number is used once').toBe(numbers.size);
  const cited = sources.flatMap((path) =>
    commentsOf(path).flatMap((comment) =>
      [...comment.matchAll(/\bchoice (\d+)\b/g)].map(([, number]) => ({ path, number: number! })),
    ),
  );
  expect(cited.length).toBeGreaterThan(5);
  expect(cited.filter(({ number }) => !numbers.has(number))).toEqual([]);
});

it('comments cite pages and headings of docs/ that exist', () => {
  const anchorsOf = (page: string): string[] =>
    [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
  const cited = sources.flatMap((path) =>
    commentsOf(path).flatMap((comment) =>
      [...comment.matchAll(/(?<![\w./])(docs\/[\w/.-]+\.md)(?:#([\w-]+))?/g)].map(([, page, anchor]) => ({
        path,
        page: page!,
        anchor,
      })),
    ),
  );
  const lost = cited.filter(
    ({ page, anchor }) => !docs.includes(page) || (anchor !== undefined && !anchorsOf(page).includes(anchor)),
  );
  expect(cited.length).toBeGreaterThan(50);
  expect(lost).toEqual([]);
});
