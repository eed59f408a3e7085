import { Worker } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { TokenCounter } from './token-counter.ts';

const counter = new TokenCounter(60_000);
afterEach(() => void vi.useRealTimers());

it('counts with the tokenizer of the model', async () => {
  const text = 'お誕生日おめでとう';
  expect(await counter.count('openai/gpt-4o', [text])).toBe(8);
  expect(await counter.count('openai/gpt-4', [text])).toBe(9);
  expect(await counter.count('openai/gpt-4o:nitro', [text, text])).toBe(16);
  expect(await counter.count('openai/gpt-9-of-tomorrow', [text])).toBe(8);
});

it('counts the names of special tokens as text', async () => {
  expect(await counter.count('openai/gpt-4o', ['<|endoftext|>'])).toBeGreaterThan(1);
});

it('does not count for other authors', async () => {
  expect(await counter.count('anthropic/claude-sonnet-5', ['Hello.'])).toBeUndefined();
});

it('has no result if the tokenizer takes too long, and counts the next text', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const hasty = new TokenCounter(5_000);
  expect(await hasty.count('openai/gpt-4o', ['Hello.'])).toBe(2); // the thread has loaded the tokenizer
  const slow = hasty.count('openai/gpt-4o', ['x'.repeat(500_000)]); // takes minutes
  const waiting = hasty.count('openai/gpt-4o', ['Hello.']);
  vi.advanceTimersByTime(4_999);
  expect(await Promise.race([slow, waiting, 'waits'])).toBe('waits');
  vi.advanceTimersByTime(1);
  expect(await slow).toBeUndefined();
  expect(await waiting).toBeUndefined();
  expect(await hasty.count('openai/gpt-4o', ['Hello there.'])).toBe(3);
});

it('has no result while the tokenizer loads, and counts the next text in the same thread', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended = vi.spyOn(Worker.prototype, 'terminate');
  const fresh = new TokenCounter(5_000);
  const first = fresh.count('openai/gpt-4o', ['Hello.']);
  vi.advanceTimersByTime(5_000);
  expect(await first).toBeUndefined();
  expect(await fresh.count('openai/gpt-4o', ['Hello there.'])).toBe(3);
  expect(ended).not.toHaveBeenCalled();
  ended.mockRestore();
});

it('has no result if too many texts wait', async () => {
  const counts = await Promise.all(Array.from({ length: 12 }, () => counter.count('openai/gpt-4o', ['Hello there.'])));
  expect(counts.filter((count) => count === 3)).toHaveLength(8);
  expect(counts.filter((count) => count === undefined)).toHaveLength(4);
});
