import { expect, it, vi } from 'vitest';
import { createId, createTimedId, randomText } from './ids.ts';

it('creates ids with a prefix and 24 base62 characters, all different', () => {
  const ids = Array.from({ length: 5000 }, () => createId('msg_'));
  for (const id of ids) expect(id).toMatch(/^msg_[0-9A-Za-z]{24}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

it('uses every character about equally often', () => {
  const counts = new Map<string, number>();
  const texts = Array.from({ length: 100 }, () => randomText(6200)).join('');
  for (const letter of texts) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect(counts.size).toBe(62);
  for (const count of counts.values()) {
    expect(count).toBeGreaterThan(9400); // 10,000 expected; six standard deviations
    expect(count).toBeLessThan(10600);
  }
});

it('creates timed ids of the same form, which sort by creation time', () => {
  vi.useFakeTimers({ now: 1_795_000_000_000 });
  const ids = Array.from({ length: 200 }, () => {
    vi.advanceTimersByTime(7);
    return createTimedId('gen-');
  });
  vi.useRealTimers();
  for (const id of ids) expect(id).toMatch(/^gen-[0-9A-Za-z]{24}$/);
  expect([...ids].sort()).toEqual(ids);
  expect(createTimedId('gen-') > ids[0]!.slice(0, 5)).toBe(true);
});
