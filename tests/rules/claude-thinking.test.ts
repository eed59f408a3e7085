import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { type InboundApi, openStrictLab, type StrictLab } from './strict-lab.ts';

const open = (name: string) => openStrictLab(strictProviders.find(({ id }) => id === name)!);
const asked = { messages: [{ role: 'user', content: 'Hi.' }] };

describe('a model of Claude that always reasons', () => {
  let lab: StrictLab;
  beforeAll(async () => {
    lab = await open('anthropic-fable');
  });
  afterAll(() => lab.close());

  it.each<[InboundApi, object]>([
    ['chat', { ...asked, reasoning_effort: 'none' }],
    ['chat', { ...asked, reasoning_effort: 'none', stream: true }],
    ['responses', { input: 'Hi.', reasoning: { effort: 'none' } }],
    ['messages', { ...asked, thinking: { type: 'disabled' } }],
    ['messages', { ...asked, thinking: { type: 'disabled' }, stream: true }],
    [
      'gemini',
      { contents: [{ parts: [{ text: 'Hi.' }] }], generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    ],
  ])('does not get thinking turned off by %s %j', async (api, body) => {
    const { status, sent, headers } = await lab.send(api, body);
    expect(status).toBe(200);
    expect(sent).not.toHaveProperty('thinking');
    expect(headers.get('x-router-dropped-fields')).toMatch(/reasoning|thinking/);
  });

  it.each(['xhigh', 'max'])('gets the effort %s', async (effort) => {
    const { sent } = await lab.send('chat', { ...asked, reasoning_effort: effort });
    expect(sent).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort } });
  });
});

describe('a model of Claude with budgets', () => {
  let lab: StrictLab;
  beforeAll(async () => {
    lab = await open('anthropic');
  });
  afterAll(() => lab.close());

  it.each([499, 1023])('does not reason within %d tokens, the smallest budget of which is 1024', async (budget) => {
    const thinking = { type: 'enabled', budget_tokens: budget };
    const { status, sent, headers } = await lab.send('messages', { ...asked, max_tokens: 1024, thinking });
    expect(status).toBe(200);
    expect(sent).not.toHaveProperty('thinking');
    expect(headers.get('x-router-dropped-fields')).toBe('thinking');
  });

  it('gets the smallest budget instead of a smaller one', async () => {
    const thinking = { type: 'enabled', budget_tokens: 499 };
    const { sent } = await lab.send('messages', { ...asked, max_tokens: 1025, thinking });
    expect(sent).toMatchObject({ thinking: { ...thinking, budget_tokens: 1024 } });
  });
});
