import { describe, expect, it } from 'vitest';
import { createKeyText, hashKey, createKeyLabel } from './key-text.ts';

describe('the text of a key', () => {
  it('is the prefix of its kind and 64 hex digits', () => {
    expect(createKeyText('inference')).toMatch(/^sk-rt-v1-[0-9a-f]{64}$/);
    expect(createKeyText('management')).toMatch(/^sk-rt-mgmt-v1-[0-9a-f]{64}$/);
    expect(createKeyText('inference')).not.toBe(createKeyText('inference'));
  });

  it('is stored as the SHA-256 of all of it', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('is labeled by prefix, dots and last characters', () => {
    expect(createKeyLabel(`sk-rt-v1-${'0123456789abcdef'.repeat(4)}`)).toBe('sk-rt-v1-012...def');
    expect(createKeyLabel(`sk-rt-mgmt-v1-${'0123456789abcdef'.repeat(4)}`)).toBe('sk-rt-mgmt-v1-012...def');
  });

  it('shows at most four characters of a key of the operator', () => {
    expect(createKeyLabel('hunter22')).toBe('...');
    expect(createKeyLabel('a-long-test-key-of-mine')).toBe('a-...ne');
  });
});
