import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('keeps the shape of ticks before the program loads anything else', () => {
  const [first] = /^import .*$/m.exec(readFileSync('src/cli.ts', 'utf8')) ?? [];
  expect(first).toContain("import './platform/keep-ticks.ts';");
});
