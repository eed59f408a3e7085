import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildConsole } from '../../console/build.ts';

const output = join(mkdtempSync(join(tmpdir(), 'headgate-console-')), 'console');
let first: string[];

beforeAll(async () => {
  first = await buildConsole(output);
});
afterAll(() => rmSync(join(output, '..'), { recursive: true, force: true }));

const sizeOf = (files: string[]): number =>
  files.reduce((sum, file) => sum + statSync(join(output, `${file}.br`)).size, 0);

it('the first page has at most 180 KB, compressed with brotli', () => {
  expect(first).toContain('index.html');
  expect(sizeOf(first)).toBeLessThanOrEqual(180_000);
});

it('the console has at most 450 KB, compressed with brotli', () => {
  const files = globSync('**/*.br', { cwd: output });
  expect(files.length).toBeGreaterThan(5);
  expect(sizeOf(files.map((file) => file.slice(0, -'.br'.length)))).toBeLessThanOrEqual(450_000);
});

it('the document has no inline script or style, and loads files with hashes only', () => {
  const document = readFileSync(join(output, 'index.html'), 'utf8');
  expect(document).toContain('<base href="/console/"');
  expect(document).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/);
  const files = [...document.matchAll(/<script[^>]*\ssrc="([^"]+)"|<link rel="stylesheet"[^>]*\shref="([^"]+)"/g)];
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const [, script, style] of files) expect(script ?? style).toMatch(/^\.\/assets\/[\w-]+-[\w-]{8}\.(js|css)$/);
});

it('no file names another host', () => {
  const hosts = globSync('**/*.{js,css,html}', { cwd: output }).flatMap((file) =>
    [
      ...readFileSync(join(output, file), 'utf8').matchAll(
        /\b(?:src|href|url|fetch|import)\s*[(=:]?\s*["'`(](https?:\/\/[^"'`)]+)/g,
      ),
    ].map(([, url]) => url),
  );
  expect(hosts).toEqual([]);
});
