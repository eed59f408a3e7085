import { describe, expect, it } from 'vitest';
import { readSentKey } from './read-sent-key.ts';

const text = 'sk-rt-v1-0123';

describe('a key', () => {
  it.each([
    `Bearer ${text}`,
    `bearer  ${text} `,
    `Bearer Bearer ${text}`,
    `Bearer "${text}"`,
    `'${text}'`,
    text,
    `Basic ${btoa(`user:${text}`)}`,
    `basic ${btoa(`${text}:`)}`,
    `Basic ${btoa(text)}`,
  ])('is in %j', (sent) => {
    expect(readSentKey(sent)).toBe(text);
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic',
    'Basic x',
    'Digest a, b',
    `Bearer ${text} more`,
  ])('is not in %j', (sent) => {
    expect(readSentKey(sent)).not.toBe(text);
  });
});
