import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPassageKind, splitPassages, type PassageKind } from './split-passages.ts';

const split = (text: string, kind: PassageKind) => [...splitPassages(text, kind)];

describe('splitPassages', () => {
  it('puts the headings above a passage before it', () => {
    const long = 'A sentence about refunds. '.repeat(80);
    const found = split(`# Guide\n\nHello.\n\n## Money\n\n${long}\n\n# Other\nEnd.`, 'markdown');
    expect(found[0]).toBe('Guide\n# Guide\n\nHello.');
    expect(found.slice(1, -1).every((passage) => passage.startsWith('Guide › Money\n'))).toBe(true);
    expect(found.at(-1)).toBe('Other\n# Other\nEnd.');
    expect(found.length).toBeGreaterThan(3);
  });

  it('repeats the first row of a table', () => {
    const rows = Array.from({ length: 200 }, (_, row) => `${row},name ${row},${row * 2}`);
    const found = split(['id,name,price', ...rows].join('\n'), 'rows');
    expect(found.length).toBeGreaterThan(2);
    for (const passage of found) expect(passage.startsWith('id,name,price\n')).toBe(true);
    expect(found.flatMap((passage) => passage.split('\n').slice(1))).toEqual(rows);
  });

  it('keeps paragraphs together and cuts long ones after a sentence', () => {
    const paragraph = 'One two three. '.repeat(60).trim();
    const found = split([paragraph, paragraph, paragraph].join('\n\n'), 'plain');
    expect(found).toEqual([paragraph, paragraph, paragraph]);
    for (const passage of split('One two three. '.repeat(600), 'plain')) expect(passage.endsWith('three.')).toBe(true);
  });

  it.each<PassageKind>([
    'plain',
    'rows',
    'markdown',
  ])('of %s keeps all text, in bounded and well-formed passages', (kind) => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'é', '😀', ' ', '\n', '\n\n', '. ', '#', 'word '),
      maxLength: 9000,
    });
    fc.assert(
      fc.property(text, (given) => {
        const found = split(given, kind);
        const bare = (each: string) => each.replaceAll(/\s/g, '');
        for (const passage of found) {
          expect(passage.length).toBeLessThanOrEqual(3200);
          expect(passage.isWellFormed()).toBe(true);
          expect(passage.trim()).not.toBe('');
        }
        if (kind === 'plain') expect(bare(found.join(''))).toBe(bare(given));
        else for (const character of new Set(bare(given))) expect(found.join('')).toContain(character);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['text/csv', 'rows'],
    ['application/json', 'plain'],
    ['text/plain', 'plain'],
    ['application/pdf', 'markdown'],
  ])('divides %s as %s', (mimeType, kind) => expect(findPassageKind(mimeType)).toBe(kind));
});
