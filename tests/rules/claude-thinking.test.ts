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

const tool = { name: 'look', input_schema: { type: 'object', properties: {} } };
const chatTool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };

describe('a model of Claude that turns reasoning off in its own way', () => {
  let lab: StrictLab;
  beforeAll(async () => {
    lab = await open('anthropic-sonnet-5-5');
  });
  afterAll(() => lab.close());

  it.each<[InboundApi, object]>([
    ['chat', { ...asked, reasoning_effort: 'none' }],
    ['responses', { input: 'Hi.', reasoning: { effort: 'none' } }],
    ['messages', { ...asked, thinking: { type: 'disabled' } }],
    ['messages', { ...asked, thinking: { type: 'between_tools' } }],
  ])('gets it from %s %j', async (api, body) => {
    const { status, sent } = await lab.send(api, body);
    expect(status).toBe(200);
    expect(sent).toMatchObject({ thinking: { type: 'between_tools' } });
  });

  it('gets an effort of at most high then', async () => {
    const body = { ...asked, thinking: { type: 'disabled' }, output_config: { effort: 'max' } };
    const { status, sent } = await lab.send('messages', body);
    expect(status).toBe(200);
    expect(sent).toMatchObject({ output_config: { effort: 'high' } });
  });

  it.each<[InboundApi, object]>([
    ['chat', { ...asked, tools: [chatTool], tool_choice: 'required', reasoning_effort: 'high' }],
    ['chat', { ...asked, tools: [chatTool], tool_choice: { type: 'function', function: { name: 'look' } } }],
    ['messages', { ...asked, tools: [tool], tool_choice: { type: 'any', disable_parallel_tool_use: true } }],
    ['messages', { ...asked, tools: [tool], tool_choice: { type: 'tool', name: 'look' }, stream: true }],
  ])('gets a request in words instead of a forced call of %s %j', async (api, body) => {
    const { status, sent, headers } = await lab.send(api, body);
    expect(status).toBe(200);
    expect(sent).toMatchObject({
      messages: [{ content: [{ text: 'Hi.' }, { text: expect.stringMatching(/^Call /) }] }],
      tools: [{ name: 'look' }],
      tool_choice: { type: 'auto' },
    });
    expect(headers.get('x-router-dropped-fields')).toMatch(/^tool_choice/);
    if ('reasoning_effort' in body) expect(sent).toMatchObject({ output_config: { effort: 'high' } });
  });
});

describe('instructions within the conversation', () => {
  const spoken = { ...asked, messages: [...asked.messages, { role: 'system', content: 'Be brief.' }] };
  let older: StrictLab;
  let newer: StrictLab;
  beforeAll(async () => {
    [older, newer] = await Promise.all([open('anthropic-sonnet-5'), open('anthropic-opus-5-5')]);
  });
  afterAll(() => Promise.all([older.close(), newer.close()]));

  it('are texts of the user for a model without them', async () => {
    const { status, sent } = await older.send('messages', spoken);
    expect(status).toBe(200);
    expect(sent['messages']).toEqual([
      { role: 'user', content: [{ text: 'Hi.' }, { text: 'System:' }, { text: 'Be brief.' }].map(asText) },
    ]);
  });

  it('keep their place for a model with them', async () => {
    const { sent } = await newer.send('messages', spoken);
    expect(sent['messages']).toMatchObject([{ role: 'user' }, { role: 'system', content: [{ text: 'Be brief.' }] }]);
  });

  it('keep their own fields, each in a message of its own', async () => {
    const effort = { role: 'system', content: [], output_config: { effort: 'low' } };
    const passing = { role: 'system', content: 'Be kind.', clear_at: 'next_user_message' };
    const { status, sent } = await newer.send('messages', {
      ...asked,
      messages: [...asked.messages, effort, passing, { role: 'system', content: 'Be brief.' }],
    });
    expect(status).toBe(200);
    expect(sent['messages']).toMatchObject([
      { role: 'user' },
      effort,
      { ...passing, content: [{ text: 'Be kind.' }] },
      { role: 'system', content: [{ text: 'Be brief.' }] },
    ]);
  });

  it('lose the fields that the model does not know', async () => {
    const effort = { role: 'system', content: [], output_config: { effort: 'low' } };
    const { status, sent, headers } = await older.send('messages', {
      ...asked,
      messages: [effort, ...asked.messages],
    });
    expect([status, sent['messages']]).toEqual([200, [{ role: 'user', content: [asText({ text: 'Hi.' })] }]]);
    expect(headers.get('x-router-dropped-fields')).toBe('messages[0].output_config');
  });
});

const asText = ({ text }: { text: string }) => ({ type: 'text', text });

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
