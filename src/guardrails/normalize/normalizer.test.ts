import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DROPPED, Normalizer, normalizeText } from './normalizer.ts';
import { OffsetMap } from './offset-map.ts';

describe('normalized text', () => {
  it.each([
    ['plain text is the same', 'Write to jane@example.com.\r\n\tBye', 'Write to jane@example.com.\r\n\tBye'],
    [
      'letters of all scripts stay',
      'Crème brûlée, Ελλάδα, Йод, 敏捷, 한국어, が',
      'Crème brûlée, Ελλάδα, Йод, 敏捷, 한국어, が',
    ],
    ['typographic quotes and an em dash stay', '“a” ‘b’ — c', '“a” ‘b’ — c'],
    ['full-width characters', 'ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ　１２３－４５', 'jane@example.com 123-45'],
    ['other forms of letters and digits', '𝐣𝕒𝖓ⓔ ① ² Ⅷ ㎏ ﬁ \u212a', 'jane 1 2 VIII kg fi K'],
    ['small capitals', 'ᴊᴀɴᴇ@ᴇxᴀᴍᴘʟᴇ.ᴄᴏᴍ ꜱᴘʏ ᴢᴡ', 'jane@example.com spy zw'],
    ['negative and regional letters', '🅙🅐🅝🅔@🅹🅰🅽🅴.🇨🇴🇲', 'JANE@JANE.COM'],
    ['digits of all scripts', '٤١١١ १२३-४५ ๙ 𑁦𑁯 𝟗 ０', '4111 123-45 9 09 9 0'],
    ['ideographic full stops', 'example。com｡', 'example.com.'],
    ['format characters', 'a\ufff9b\ufffb\u{13430}c\u{13438}d\u2800e\ufffcf\u0640g', 'abcdefg'],
    ['spaces and dots', 'a\u00a0b\u202fc…', 'a b c...'],
    ['hyphens in numbers', '415\u2011555\u20102671 1\u20132 \u22121', '415-555-2671 1-2 -1'],
    [
      'zero-width characters, soft hyphens, direction marks',
      'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u200eh\u202ei',
      'abcdefghi',
    ],
    ['variation selectors and tags', '1\ufe0f\u{e0061}\u{e007f}2\u{e0100}', '12'],
    ['control characters', 'a\0b\u0007c\u007fd\u0090e', 'abcde'],
    [
      'marks after Latin, Greek and Cyrillic letters, digits and signs',
      'm\u0332a\u0301 \u0489 ε\u0301 и\u0306 1\u20e3@\u0338',
      'ma  ε и 1@',
    ],
    ['marks of other scripts stay', 'नमस्ते สวัสดี שָׁלוֹם か\u3099', 'नमस्ते สวัสดี שָׁלוֹם か\u3099'],
    ['signs that contain a mark', '\u00b4 \u00a8', '    '.slice(1)],
    ['escapes of JSON', String.raw`{"to":"j\u0061ne\/b\n\"\\\t"}`, '{"to":"jane/b\n"\\\t"}'],
    ['escapes of other forms of characters', String.raw`\ud835\udc23\uFF41\u200bne`, 'jane'],
    ['an escape of an escape, once', String.raw`\\u0061`, String.raw`\u0061`],
    ['backslashes that begin no escape', '\\w+ \\u00 \\', '\\w+ \\u00 \\'],
    ['colors and positions of terminals', '\u001b[1;31mja\u001b[0mne\u001b(B \u009b2Ka \u001b\u001b[?25lb', 'jane a b'],
    ['escaped colors', String.raw`ja\u001b[0mne`, 'jane'],
    ['what only looks like a code of a terminal', '[0m \u001bM \u001b[12é \u001b(é', '[0m M é é'],
    ['an unpaired surrogate', 'a\ud835', 'a\ud835'],
  ])('%s', (_what, text, normal) => {
    expect(normalizeText(text)).toBe(normal);
  });

  it('keeps what follows a long run of characters without a glyph apart', () => {
    const run = (length: number) => normalizeText(`a${'\u200b'.repeat(length)}b`);
    expect(run(MAX_DROPPED)).toBe('ab');
    expect(run(MAX_DROPPED + 1)).toBe('a\u200bb');
  });
});

const character = fc.oneof(
  fc.constantFrom(
    'a',
    '@',
    '\u200b',
    '\u0301',
    '＠',
    '𝐣',
    'ﷺ',
    '…',
    'か',
    '\u3099',
    'ﾞ',
    '😀',
    '\ud835',
    '\0',
    '\u00a0',
    '\u001b[31m',
    '\u001b',
    '[',
    '\\n',
    '\\u0061',
    '\\ud835\\udc23',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((one) => one !== '\\'), // half an escape
);

describe('the positions of normalized text', () => {
  it('are those of the characters that it comes from, wherever the pieces end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(character, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 }),
        (parts) => {
          const pieces = parts.map((part) => part.join('').toWellFormed());
          const original = pieces.join('');
          const normalizer = new Normalizer();
          const map = new OffsetMap(0);
          const text = pieces.map((piece) => normalizer.write(piece, map)).join('');
          expect(text).toBe(normalizeText(original));
          let end = 0;
          for (let at = 0; at < text.length; at++) {
            const [start, after] = [map.startOf(at), map.endOf(at + 1)];
            expect(start).toBeGreaterThanOrEqual(at === 0 ? 0 : map.startOf(at - 1));
            expect(after).toBeGreaterThan(start);
            expect(after).toBeGreaterThanOrEqual(end);
            expect(map.startOf(map.normalAt(start))).toBeLessThanOrEqual(start);
            end = after;
            const from = original.slice(start, after);
            const isHalf = /^[\ud800-\udfff]$/.test(from); // a pair that stays
            if (!isHalf) expect(`${from} ${normalizeText(`か${from}`)}`).toContain(text[at]);
          }
          expect(map.startOf(text.length)).toBe(original.length);
        },
      ),
    );
  });

  it('are known after the text before them is released', () => {
    const normalizer = new Normalizer();
    const map = new OffsetMap(0);
    let length = 0;
    let original = 0;
    for (let round = 0; round < 3000; round++) {
      length += normalizer.write('a\u200b𝐣', map).length;
      original += 4;
      expect(map.startOf(length - 1)).toBe(original - 2);
      expect(map.endOf(length)).toBe(original);
      expect(map.startOf(length - 2)).toBe(original - 4);
      map.release(length - 2);
    }
  });
});
