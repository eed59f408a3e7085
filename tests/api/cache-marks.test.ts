import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { plainAnswers } from '../rules/plain-answers.ts';
import { provider } from './lab.ts';

/* Marks of the prompt cache reach the models that have them, from each API and at each place where clients have them. */

const wires = ['anthropic-messages', 'openai-chat', 'openai-responses', 'gemini'] as const;
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const marked = { cache_control: true };
  gateway = await testGateway({
    providers: [
      ...wires.map((wire) => provider(wire, 'plain', upstream)),
      provider('openai-chat', 'marked', upstream, { dialect: marked }),
      provider('openai-responses', 'gateway', upstream, { dialect: { gateway: true } }),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const mark = { cache_control: { type: 'ephemeral' } };
const long = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const parameters = { type: 'object', properties: {} };
type Fields = Record<string, unknown>;

async function send(model: string, path: string, body: object): Promise<{ sent: Fields; lost: string | null }> {
  const [wire] = model.split('/') as [(typeof wires)[number]];
  upstream.always(plainAnswers[wire]('ok'));
  const response = await gateway.post(path, { model, ...body });
  expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 });
  return { sent: upstream.requests.at(-1)!.body as Fields, lost: response.headers.get('x-router-dropped-fields') };
}

const messages = [{ role: 'user', content: 'Hi' }];
/** A tool with a mark, in the shapes of clients. */
const tools: [string, string, object][] = [
  [
    '/chat/completions',
    'beside the function',
    { messages, tools: [{ type: 'function', function: { name: 'f', parameters }, ...mark }] },
  ],
  [
    '/chat/completions',
    'in the function',
    { messages, tools: [{ type: 'function', function: { name: 'f', parameters, ...mark } }] },
  ],
  ['/chat/completions', 'of Anthropic', { messages, tools: [{ name: 'f', input_schema: parameters, ...mark }] }],
  ['/responses', 'of a function', { input: 'Hi', tools: [{ type: 'function', name: 'f', parameters, ...mark }] }],
  ['/messages', 'of a tool', { max_tokens: 100, messages, tools: [{ name: 'f', input_schema: parameters, ...mark }] }],
];

describe.each(tools)('a mark of %s, %s,', (path, _place, body) => {
  it('reaches Claude', async () => {
    const { sent, lost } = await send('anthropic-messages/plain', path, body);
    expect(sent['tools']).toMatchObject([{ name: 'f', ...mark }]);
    expect(lost).toBeNull();
  });

  it('reaches a chat server that takes marks, and another gateway', async () => {
    const chat = await send('openai-chat/marked', path, body);
    expect(chat.sent['tools']).toMatchObject([{ type: 'function', ...mark }]);
    expect(JSON.stringify(chat.sent).match(/cache_control/g)).toHaveLength(1);
    const { sent } = await send('openai-responses/gateway', path, body);
    expect(sent['tools']).toMatchObject([{ type: 'function', ...mark }]);
  });

  it.each(['openai-chat', 'openai-responses', 'gemini'])('is left out and named for %s', async (wire) => {
    const { sent, lost } = await send(`${wire}/plain`, path, body);
    expect(JSON.stringify(sent)).not.toContain('cache_control');
    expect(lost).toBe('cache_control');
  });
});

it('the mark beside a function wins over the one in it', async () => {
  const tool = { type: 'function', function: { name: 'f', parameters, ...mark }, ...long };
  const { sent } = await send('anthropic-messages/plain', '/chat/completions', { messages, tools: [tool] });
  expect(sent['tools']).toMatchObject([long]);
});

/** A conversation of all roles, whose contents are written by a function. */
const chat = (write: (text: string) => object) => ({
  messages: [
    { role: 'system', ...write('a') },
    { role: 'user', ...write('b') },
    {
      role: 'assistant',
      ...write('c'),
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', ...write('d') },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters } }],
});
const part = (type: string) => (text: string) => [{ type, text, ...mark }];
const items = {
  input: [
    { role: 'system', content: part('input_text')('a') },
    { role: 'user', content: part('input_text')('b') },
    { role: 'assistant', content: part('output_text')('c') },
    { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: part('input_text')('d') },
  ],
  tools: [{ type: 'function', name: 'f', parameters }],
};
const blocks = {
  max_tokens: 100,
  system: part('text')('a'),
  messages: [
    { role: 'user', content: part('text')('b') },
    { role: 'assistant', content: [...part('text')('c'), { type: 'tool_use', id: 'call_1', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: part('text')('d') }] },
  ],
  tools: [{ name: 'f', input_schema: parameters }],
};

it.each([
  ['/chat/completions', 'parts', chat((text) => ({ content: part('text')(text) }))],
  ['/chat/completions', 'messages', chat((text) => ({ content: text, ...mark }))],
  ['/responses', 'parts', items],
  ['/messages', 'blocks', blocks],
])('marks of %s on %s of every role reach Claude, and a chat server that takes them', async (path, _place, body) => {
  const { sent, lost } = await send('anthropic-messages/plain', path, body);
  const text = (value: string) => ({ type: 'text', text: value, ...mark });
  expect(sent['system']).toEqual([text('a')]);
  expect(sent['messages']).toMatchObject([
    { role: 'user', content: [text('b')] },
    { role: 'assistant', content: [text('c'), { type: 'tool_use' }] },
    { role: 'user', content: [{ type: 'tool_result', content: [text('d')] }] },
  ]);
  expect(lost).toBeNull();
  const other = await send('openai-chat/marked', path, body);
  expect(other.sent['messages']).toMatchObject(['a', 'b', 'c', 'd'].map((value) => ({ content: [text(value)] })));
});

it.each([
  ['a text', 'd'],
  [
    'blocks',
    [
      { type: 'text', text: 'x' },
      { type: 'text', text: 'd' },
    ],
  ],
])('the mark of a result with %s, as Claude Code sends it, is that of its last text elsewhere', async (_what, content) => {
  const [user, assistant] = blocks.messages;
  const result = { type: 'tool_result', tool_use_id: 'call_1', content, ...mark };
  const body = { ...blocks, messages: [user, assistant, { role: 'user', content: [result] }] };
  const claude = await send('anthropic-messages/plain', '/messages', body);
  expect(claude.sent['messages']).toMatchObject([{}, {}, { content: [result] }]);
  const { sent, lost } = await send('openai-chat/marked', '/messages', body);
  const texts = [...(content === 'd' ? [] : [{ type: 'text', text: 'x' }]), { type: 'text', text: 'd', ...mark }];
  expect((sent['messages'] as object[]).at(-1)).toEqual({ role: 'tool', tool_call_id: 'call_1', content: texts });
  expect(lost).toBeNull();
});

it('a text of the model has no mark at OpenAI', async () => {
  const { sent, lost } = await send('openai-responses/plain', '/responses', items);
  const marked = { prompt_cache_breakpoint: { mode: 'explicit' } };
  expect(sent['input']).toMatchObject([{ content: [marked] }, { content: [marked] }, {}, {}, { output: [marked] }]);
  expect(JSON.stringify(sent).match(/prompt_cache_breakpoint/g)).toHaveLength(3);
  expect(lost).toBe('cache_control');
});

/** In the explicit mode, OpenAI caches nothing without a breakpoint: BerriAI/litellm#40032. */
it('a breakpoint of OpenAI in chat completions reaches OpenAI, and Claude as its mark', async () => {
  const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } };
  const body = {
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'a', ...breakpoint }] },
      { role: 'user', content: [{ type: 'text', text: 'b', ...breakpoint }] },
    ],
    prompt_cache_options: { mode: 'explicit' },
  };
  const { sent } = await send('openai-responses/plain', '/chat/completions', body);
  expect(sent).toMatchObject({
    input: [{ content: [breakpoint] }, { content: [breakpoint] }],
    prompt_cache_options: { mode: 'explicit' },
  });
  const claude = await send('anthropic-messages/plain', '/chat/completions', body);
  expect(claude.sent).toMatchObject({ system: [mark], messages: [{ content: [mark] }] });
});
