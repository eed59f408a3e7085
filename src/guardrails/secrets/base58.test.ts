import { expect, it } from 'vitest';
import { decodeBase58Check, encodeBase58Check } from './base58.ts';

it('a Base58Check text is decoded if its checksum is right', () => {
  const payload = Buffer.from(`80${'0123456789abcdef'.repeat(4)}`, 'hex');
  const text = encodeBase58Check(payload);
  expect(text).toMatch(/^5[1-9A-HJ-NP-Za-km-z]{50}$/);
  expect(decodeBase58Check(text)).toEqual(payload);
  for (const other of [`${text.slice(0, -1)}${text.endsWith('1') ? '2' : '1'}`, text.slice(1), '0OIl', '1', '']) {
    expect(decodeBase58Check(other)).toBeUndefined();
  }
});
