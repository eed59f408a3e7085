import { readFileSync, writeFileSync } from 'node:fs';
import { writeFigures } from './corpus.ts';

/*
 * Writes the precision and recall of the built-in filters into docs/reference/guardrails.md: `npm run docs`.
 */

export const figuresPage = new URL('../../docs/reference/guardrails.md', import.meta.url);

/** Replaces the table between the markers. */
export function insertFigures(page: string): string {
  const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'];
  const start = page.indexOf(begin) + begin.length;
  return `${page.slice(0, start)}\n${writeFigures()}\n${page.slice(page.indexOf(end))}`;
}

if (import.meta.main) writeFileSync(figuresPage, insertFigures(readFileSync(figuresPage, 'utf8')));
