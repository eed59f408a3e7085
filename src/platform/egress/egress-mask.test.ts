import { describe, expect, it } from 'vitest';
import { MaskScan, EgressMask } from './egress-mask.ts';

const token = 'ghp_9fKq2LwXz7RtVb4NmPsDc8HjYe3GuA1oTiWk'; // 40 bytes
const maskOf = (...values: string[]) => new EgressMask(values.map((value) => Buffer.from(value)));
const maskUtf8 = (mask: EgressMask, text: string): string =>
  Buffer.from(mask.maskText(Buffer.from(text).toString('latin1')), 'latin1').toString('utf8');

describe('a mask', () => {
  const mask = maskOf(token);

  it('replaces a value by as many stars, in upper and lower case', () => {
    for (const text of [token, token.toLowerCase(), token.toUpperCase()]) {
      expect(mask.maskText(`a ${text}, b ${text}`)).toBe(`a ${'*'.repeat(40)}, b ${'*'.repeat(40)}`);
    }
  });

  it('replaces a beginning from a sixth on, and what follows it up to the length of the value', () => {
    for (let length = 1; length <= 40; length++) {
      const shown = mask.maskText(`<a>${token.slice(0, length)}</a> and a text of more than forty letters`);
      if (length < 8) expect(shown).toContain(`<a>${token.slice(0, length)}</a>`);
      else expect(shown).toBe(`<a>${'*'.repeat(length)}</a> and a text of more than forty letters`);
    }
    // The letters after a beginning are not compared, so they cannot be guessed one after the other.
    for (const next of ['t', 'x']) {
      const shown = mask.maskText(`${token.slice(0, 14)}${next}${'.'.repeat(30)}`);
      expect(shown).toBe(`${'*'.repeat(40)}.....`);
    }
    expect(mask.maskText(`${token.slice(0, 14)} "b"`)).toBe(`${'*'.repeat(15)}"b"`);
  });

  it('replaces ends, and the middle', () => {
    for (let from = 1; from <= 26; from++) expect(mask.maskText(token.slice(from))).toMatch(/^\w{0,6}\*+$/);
    expect(mask.maskText(`.${token.slice(-8)}`)).toBe(`.${'*'.repeat(8)}`);
    for (let from = 1; from < 26; from++) {
      expect(mask.maskText(token.slice(from, from + 14))).toMatch(/^\w{0,6}\*{8,}$/);
    }
  });

  it.each([8, 9, 12, 15, 16, 17, 24])('replaces every piece of 8 bytes of a value of %i bytes', (length) => {
    const short = token.slice(4, 4 + length);
    const special = maskOf(short);
    for (let from = 0; from + 8 <= length; from++) {
      const piece = short.slice(from, from + 8);
      expect(special.maskText(`(${piece})`), piece).toMatch(/^\(\*{8}/);
      const hex = Buffer.from(piece).toString('hex');
      expect(special.maskText(`(${hex})`), hex).toMatch(/^\(\*{16}/);
      const digits = Buffer.from(piece).toString('base64');
      expect(special.maskText(`(${digits})`), digits).toMatch(/^\(\*{10}/);
    }
  });

  it.each([
    '\n',
    '\r\n',
    '\\n',
    '\\r\\n',
    '\\\\n',
    '\n\t ',
  ])('replaces a value that is wrapped with %j', (lineBreak) => {
    for (const value of [token, `nnn${token}`, token.repeat(3)]) {
      const special = maskOf(value);
      const base64 = [value, `user:${value}`].map((text) => Buffer.from(text).toString('base64'));
      for (const spelling of [value, ...base64, Buffer.from(value).toString('hex')]) {
        for (const width of [1, 5, 9, 13, 60, 64, 72, 76]) {
          const wrapped = spelling.match(new RegExp(`.{1,${width}}`, 'g'))!.join(lineBreak);
          const whole = special.maskText(wrapped);
          expect(whole.replaceAll(lineBreak, '').replaceAll(/[*\s]/g, '').length, whole).toBeLessThan(11);
          const scan = new MaskScan();
          const pieces = wrapped.match(/.{1,7}/gs)!.map((piece) => scan.write(special, Buffer.from(piece)).toString());
          expect([...pieces, scan.end(special).toString()].join('')).toBe(whole);
        }
      }
    }
  });

  it('finds common spellings', () => {
    const value = 'tok/en-ÄÖ <value>&"1\'+2';
    const special = maskOf(value);
    const php = JSON.stringify(value).replaceAll('/', '\\/');
    const spellings = [
      value,
      encodeURIComponent(value),
      encodeURIComponent(value).toLowerCase(),
      encodeURI(value),
      new URLSearchParams({ a: value }).toString().slice(2),
      JSON.stringify(value).slice(1, -1),
      php.slice(1, -1).replaceAll('Ä', '\\u00c4').replaceAll('Ö', '\\u00D6'),
      value
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
      Buffer.from(value).toString('hex'),
    ];
    for (const spelled of [value.toLowerCase(), value.toUpperCase()]) {
      spellings.push(
        spelled,
        encodeURIComponent(spelled),
        spelled.replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026').replace('"', '\\"'),
      );
    }
    for (const text of spellings) {
      expect(maskUtf8(special, `(${text})`), text).toBe(`(${'*'.repeat(Buffer.byteLength(text))})`);
    }
  });

  it.each([0, 1, 2, 3, 4, 5])('finds base64 of a text with the value after %i bytes', (before) => {
    const value = 'Zürich>>>???ÿÿÿ-Zürich>>>???ÿÿÿ'; // has the digits + and /
    const special = maskOf(value);
    const bytes = Buffer.from(`${'x'.repeat(before)}${value} and more`);
    for (const encoding of ['base64', 'base64url'] as const) {
      const digits = bytes.toString(encoding);
      const masked = special.maskText(digits);
      const shown = Buffer.from(masked.replaceAll('*', 'A'), 'base64').toString('latin1');
      expect(shown.slice(0, before)).toBe('x'.repeat(before));
      expect(masked.match(/\*+/)![0].length).toBeGreaterThan((Buffer.byteLength(value) - 2) * (4 / 3));
      for (let at = 0; at < digits.length; at++) {
        const wrapped = `${digits.slice(0, at)}\n${digits.slice(at)}`;
        const shown = special.maskText(wrapped).replaceAll('\n', '');
        expect(shown.replaceAll('*', '').length, shown).toBeLessThan(before * 2 + 12 + 20);
      }
    }
  });

  it('leaves values of less than 8 bytes, and everything else', () => {
    const text = 'pass 12345678 github ghp_ and ghp_9fK';
    expect(maskOf('1234567').maskText(text)).toBe(text);
    expect(mask.maskText(text)).toBe(text);
    expect(maskOf('12345678').maskText(text)).toBe('pass ******** github ghp_ and ghp_9fK');
    expect(maskOf().maskText(text)).toBe(text);
  });

  it('finds nothing after it was closed', () => {
    const closed = maskOf(token);
    closed.close();
    expect(closed.maskText(token)).toBe(token);
  });
});

describe('a stream', () => {
  const values = [token, 'aaaaaaaaaaaaaaab', `"${token}"`, 'aaaaaaaaaaaaaaac and more words', 'x'.repeat(300)];
  const mask = maskOf(...values);
  const text = [
    token,
    token.slice(0, 20),
    `{"a":"${token.slice(0, 15)}","b":1}`,
    JSON.stringify({ token: `"${token}"` }),
    'a'.repeat(40),
    'aaaaaaaaaaaaaaab',
    'aaaaaaaaaaaaaaaaaaaaac and more words',
    'x'.repeat(299),
    'x'.repeat(99),
    Buffer.from(`user:${token}`).toString('base64'),
    token.slice(0, 13),
  ].join(' - ');
  const whole = mask.maskText(text);

  it('is masked as the whole text, however it is cut', () => {
    expect(whole).not.toContain(token.slice(0, 14));
    for (let size = 1; size <= text.length; size++) {
      const scan = new MaskScan();
      let masked = '';
      for (let at = 0; at < text.length; at += size) {
        masked += scan.write(mask, Buffer.from(text.slice(at, at + size))).toString();
      }
      expect(masked + scan.end(mask).toString(), `${size}`).toBe(whole);
    }
  });

  it('waits only for bytes that may be the beginning of a part', () => {
    const scan = new MaskScan();
    expect(scan.write(mask, Buffer.from('data: {"n":1}\n\n')).toString()).toBe('data: {"n":1}\n\n');
    expect(scan.write(mask, Buffer.from('data: ghp_')).toString()).toBe('data: ');
    expect(scan.write(mask, Buffer.from('x')).toString()).toBe('ghp_x'.slice(0, 4));
    expect(scan.end(mask).toString()).toBe('x');
  });

  it('sends the end of an event at once, and masks the rest of a value that continues after it', () => {
    const scan = new MaskScan();
    expect(scan.write(mask, Buffer.from('data: a g\n')).toString()).toBe('data: a ');
    expect(scan.write(mask, Buffer.from('\n')).toString()).toBe('g\n\n');
    const rest = scan.write(mask, Buffer.from(`${token.slice(1)}.`)).toString() + scan.end(mask).toString();
    expect(rest).toBe(`${'*'.repeat(39)}.`);
  });

  it('keeps a bounded number of white space', () => {
    const scan = new MaskScan();
    let shown = scan.write(mask, Buffer.from(token.slice(0, 7))).toString();
    const space = Buffer.alloc(100_000, ' ');
    for (let count = 0; count < 4; count++) shown += scan.write(mask, space).toString();
    expect(shown).toHaveLength(7 + 300_000 + 100_000);
    shown += scan.write(mask, Buffer.from(token.slice(7))).toString() + scan.end(mask).toString();
    expect(shown.replaceAll(/[ *]/g, '')).toMatch(/^\w{0,6}$/);
  });

  it('leaves a long part of a long value in no more memory than that', () => {
    const scan = new MaskScan();
    const long = maskOf(`begin${'y'.repeat(8000)}`);
    expect(scan.write(long, Buffer.from(`begin${'y'.repeat(2000)}`))).toHaveLength(0);
    expect(scan.write(long, Buffer.from('y'.repeat(100_000))).length).toBeGreaterThan(90_000);
  });
});
