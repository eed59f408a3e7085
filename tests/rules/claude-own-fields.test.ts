import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { type InboundApi, openStrictLab, type StrictLab } from './strict-lab.ts';

const open = (name: string) => openStrictLab(strictProviders.find(({ id }) => id === name)!);
const asked = { role: 'user', content: 'Hi.' };

describe('what only Anthropic has', () => {
  let own: StrictLab;
  let cloud: StrictLab;
  beforeAll(async () => {
    [own, cloud] = await Promise.all([open('anthropic-opus-5-5'), open('vertex-anthropic')]);
  });
  afterAll(() => Promise.all([own.close(), cloud.close()]));

  it.each([
    { fallbacks: 'default' },
    { speed: 'fast' },
    { inference_geo: 'global' },
  ])('%j reaches it, and no cloud', async (field) => {
    const body = { messages: [asked], ...field };
    const [there, elsewhere] = await Promise.all([own.send('messages', body), cloud.send('messages', body)]);
    expect([there.status, elsewhere.status]).toEqual([200, 200]);
    expect(there.sent).toMatchObject(field);
    const [name] = Object.keys(field);
    expect(elsewhere.sent).not.toHaveProperty(name!);
    expect(elsewhere.headers.get('x-router-dropped-fields')).toBe(name);
  });

  it('a request that is bound to a region reaches it, and is a 400 at a cloud', async () => {
    const body = { messages: [asked], inference_geo: 'us' };
    const calls = cloud.fake.upstream.requests.length;
    const [there, elsewhere] = await Promise.all([own.send('messages', body), cloud.send('messages', body)]);
    expect([there.status, elsewhere.status]).toEqual([200, 400]);
    expect(there.sent).toMatchObject({ inference_geo: 'us' });
    expect(elsewhere.text).toContain('inference_geo');
    expect(cloud.fake.upstream.requests).toHaveLength(calls);
  });

  it('the search with dynamic filtering reaches it, and a cloud gets the older one', async () => {
    const search = { type: 'web_search_20260209', name: 'web_search', max_uses: 2 };
    const body = { messages: [asked], tools: [search] };
    const [there, elsewhere] = await Promise.all([own.send('messages', body), cloud.send('messages', body)]);
    expect([there.status, elsewhere.status]).toEqual([200, 200]);
    expect(there.sent).toMatchObject({ tools: [search] });
    expect(elsewhere.sent).toMatchObject({ tools: [{ ...search, type: 'web_search_20250305' }] });
  });

  it('changes tools within the conversation', async () => {
    const change = { type: 'tool_addition', tool: { name: 'look', input_schema: { type: 'object', properties: {} } } };
    const fake = own.fake.upstream;
    await own.send('messages', { messages: [asked, { role: 'system', content: [change] }] });
    expect(fake.requests.at(-1)?.body).toMatchObject({ messages: [{}, { role: 'system', content: [change] }] });
  });
});

describe('a cache breakpoint of a call, a result or a custom tool', () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const look = { type: 'function', id: 'call_1', function: { name: 'look', arguments: '{}' } };
  const bodies: [InboundApi, object][] = [
    [
      'chat',
      {
        messages: [
          asked,
          { role: 'assistant', content: null, tool_calls: [{ ...look, ...mark }] },
          { role: 'tool', tool_call_id: 'call_1', content: 'There.' },
        ],
        tools: [{ type: 'custom', custom: { name: 'look' }, ...mark }],
      },
    ],
    [
      'responses',
      {
        input: [
          asked,
          { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}', ...mark },
          { type: 'function_call_output', call_id: 'call_1', output: 'There.' },
        ],
        tools: [{ type: 'custom', name: 'look', ...mark }],
      },
    ],
  ];

  it.each(bodies)('reaches Claude from %s', async (api, body) => {
    const lab = await open('anthropic');
    const { status, sent, headers } = await lab.send(api, body);
    await lab.close();
    expect([status, headers.get('x-router-dropped-fields')]).toEqual([200, null]);
    expect(sent).toMatchObject({
      messages: [{}, { content: [{ type: 'tool_use', ...mark }] }, { content: [{ type: 'tool_result' }] }],
      tools: [{ name: 'look', ...mark }],
    });
  });

  it.each(bodies)('is left out for OpenAI from %s', async (api, body) => {
    const lab = await open('openai-responses');
    const { status, sent, headers } = await lab.send(api, body);
    await lab.close();
    expect([status, headers.get('x-router-dropped-fields')]).toEqual([200, 'cache_control']);
    expect(JSON.stringify(sent)).not.toContain('cache_control');
  });
});
