import { describe, expect, it } from 'vitest';
import { createSummarySeal } from './summary-seal.ts';

const [first, second] = [Buffer.from('the first master key'), Buffer.from('the second master key')];
const summaries = createSummarySeal({ current: first, previous: undefined });

describe('a sealed summary', () => {
  const sealed = summaries.seal('w', 'Grüße');

  it('opens in its workspace', () => {
    expect(summaries.open('w', sealed)).toBe('Grüße');
    expect(sealed).not.toContain(Buffer.from('Grüße').toString('base64').slice(0, 6));
  });

  it('does not open elsewhere, or if any character was changed or cut off', () => {
    expect(summaries.open('other', sealed)).toBeUndefined();
    expect(createSummarySeal({ current: second, previous: undefined }).open('w', sealed)).toBeUndefined();
    for (let at = 'hgc1.'.length; at < sealed.length; at++) {
      const changed = sealed[at] === 'A' ? 'B' : 'A';
      expect(summaries.open('w', sealed.slice(0, at) + changed + sealed.slice(at + 1))).toBeUndefined();
      expect(summaries.open('w', sealed.slice(0, at))).toBeUndefined();
    }
  });

  it('opens after the master key was replaced, and is then sealed with the new one', () => {
    const replaced = createSummarySeal({ current: second, previous: first });
    expect(replaced.open('w', sealed)).toBe('Grüße');
    expect(createSummarySeal({ current: second, previous: undefined }).open('w', replaced.seal('w', 'x'))).toBe('x');
  });
});
