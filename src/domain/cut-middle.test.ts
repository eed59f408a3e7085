import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutMiddle } from './cut-middle.ts';

const mark = (removed: number) => `[${removed}]`;

it('keeps equal parts of the start and the end', () => {
  expect(cutMiddle('0123456789abcdefghij', 6, mark)).toBe('012[14]hij');
  expect(cutMiddle('0123456789abcdefghij', 0, mark)).toBe('[20]');
});

it('keeps a text that would not become shorter', () => {
  expect(cutMiddle('0123456789', 8, mark)).toBe('0123456789');
  expect(cutMiddle('short', 100, mark)).toBe('short');
});

it('never cuts a character apart, and says how much is missing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.nat(120), (text, units) => {
      const cut = cutMiddle(text, units, (removed) => `\n<${removed}>\n`);
      expect(cut.isWellFormed()).toBe(true);
      expect(cut.length).toBeLessThanOrEqual(text.length);
      const found = /\n<(\d+)>\n/.exec(cut);
      if (cut === text || !found) return;
      const [head, tail] = [cut.slice(0, found.index), cut.slice(found.index + found[0].length)];
      expect(head.length + tail.length).toBeLessThanOrEqual(Math.max(units, 0));
      expect(head.length + Number(found[1]) + tail.length).toBe(text.length);
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
    }),
  );
});
