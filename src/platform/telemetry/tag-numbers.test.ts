import { expect, it } from 'vitest';
import { createTestEntry } from '../storage/contract/samples.ts';
import { TagNumbers } from './tag-numbers.ts';

it('sums requests, tokens and costs by tag; a request of the gateway itself is no request', () => {
  const numbers = new TagNumbers();
  const usage = { inputTokens: 3, outputTokens: 2, costNanoUsd: 1_000_000_000n };
  numbers.count(createTestEntry({ ...usage, tags: { feature: 'chat', team: 'search' } }), false);
  numbers.count(createTestEntry({ ...usage, tags: { team: 'search' } }), true);
  numbers.count(createTestEntry(usage), false);
  const [chat, search] = [
    { tag: 'feature', value: 'chat' },
    { tag: 'team', value: 'search' },
  ];
  expect(numbers.collect().map(({ name, samples }) => [name, samples])).toEqual([
    [
      'headgate_tag_responses_total',
      [
        { labels: chat, value: 1 },
        { labels: search, value: 1 },
      ],
    ],
    [
      'headgate_tag_tokens_total',
      [
        { labels: { ...chat, kind: 'input' }, value: 3 },
        { labels: { ...chat, kind: 'output' }, value: 2 },
        { labels: { ...search, kind: 'input' }, value: 6 },
        { labels: { ...search, kind: 'output' }, value: 4 },
      ],
    ],
    [
      'headgate_tag_cost_usd_total',
      [
        { labels: chat, value: 1 },
        { labels: search, value: 2 },
      ],
    ],
  ]);
});

it('counts values beyond the first 100 of a tag as one', () => {
  const numbers = new TagNumbers();
  for (let at = 0; at < 250; at++) numbers.count(createTestEntry({ tags: { team: `t${at}`, feature: 'chat' } }), false);
  const [{ samples }] = numbers.collect() as [ReturnType<TagNumbers['collect']>[number]];
  expect(samples.filter(({ labels }) => labels['tag'] === 'team')).toHaveLength(101);
  expect(samples.find(({ labels }) => labels['value'] === 'other')!.value).toBe(150);
  expect(samples.find(({ labels }) => labels['value'] === 'chat')!.value).toBe(250);
});
