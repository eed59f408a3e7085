import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { chatChunk, provider, wireNames } from './lab.ts';

/** Servers that cut their stream within an emoji: https://github.com/elie222/rakazo/issues/416. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: wireNames.map((wire) => provider(wire, 'm', upstream)) });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const halves = ['Hi ', '😀'.slice(0, 1), '😀'.slice(1), ' there'];

/** The end of a stream of the Responses format whose last text ends with half of a character. */
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const item = (status: string, content: object[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status,
  content,
});
const responses = (pieces: string[], whole: string) => {
  const output = [item('completed', [{ type: 'output_text', text: whole, annotations: [] }])];
  return [
    { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
    { type: 'response.content_part.added', ...place, part: { type: 'output_text', text: '', annotations: [] } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_item.done', output_index: 0, item: output[0] },
    { type: 'response.completed', response: { id: 'r', object: 'response', status: 'completed', output } },
  ];
};
const message = (pieces: string[], kind: 'text' | 'thinking') => [
  { type: 'message_start', message: { id: 'msg', role: 'assistant', usage: { input_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: kind, [kind]: '' } },
  ...pieces.map((piece) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: `${kind}_delta`, [kind]: piece },
  })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];
const gemini = (pieces: string[]) =>
  pieces.map((text, index) => ({
    candidates: [
      { content: { role: 'model', parts: [{ text }] }, ...(index === pieces.length - 1 && { finishReason: 'STOP' }) },
    ],
  }));

const streams = {
  'openai-chat': (pieces: string[]) => [...pieces.map((content) => chatChunk({ content })), chatChunk({}, 'stop')],
  'openai-responses': (pieces: string[]) => responses(pieces, pieces.join('')),
  'anthropic-messages': (pieces: string[]) => message(pieces, 'text'),
  gemini,
};

const user = [{ role: 'user', content: 'Hello.' }];
const apis = {
  '/responses': { input: 'Hello.' },
  '/chat/completions': { messages: user },
  '/messages': { messages: user, max_tokens: 100 },
};

/** Sends a request, and returns all texts of the stream that contain a piece. */
async function readTexts(path: keyof typeof apis, wire: string, frames: object[], more: object = {}) {
  upstream.respond(sse(frames, { named: true, done: wire === 'openai-chat' }));
  const response = await gateway.post(path, { model: `${wire}/m`, stream: true, ...apis[path], ...more });
  const text = await response.text();
  expect(response.status).toBe(200);
  const texts: string[] = [];
  for (const [, data] of text.matchAll(/^data: (\{.*)$/gm)) {
    JSON.parse(data!, (key, value: unknown) => {
      if (typeof value === 'string' && /^(?:delta|content|text|thinking|reasoning|arguments|partial_json)$/.test(key))
        texts.push(value);
      return value;
    });
  }
  return texts;
}

describe.each(Object.keys(apis) as (keyof typeof apis)[])('a character in two pieces for %s', (path) => {
  it.each(wireNames)('is whole from %s', async (wire) => {
    const texts = await readTexts(path, wire, streams[wire](halves));
    expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
    expect(texts).toContain('😀');
  });

  it.each(wireNames)('without its second half is U+FFFD from %s', async (wire) => {
    const texts = await readTexts(path, wire, streams[wire](halves.slice(0, 2)));
    expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
    expect(texts).toContain('\ufffd');
  });

  it('is whole in reasoning', async () => {
    const thinking = [...message(halves, 'thinking').slice(0, -2), ...message(['Hi'], 'text').slice(1)];
    const texts = await readTexts(path, 'anthropic-messages', thinking);
    expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
    expect(texts).toContain('😀');
  });

  it('is whole in the arguments of a call', async () => {
    const pieces = ['{"a":"', ...halves, '"}'];
    const call = (args: string, more?: object) => ({
      tool_calls: [{ index: 0, ...more, function: { arguments: args } }],
    });
    const frames = [
      chatChunk({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }] }),
      ...pieces.map((piece) => chatChunk(call(piece))),
      chatChunk({}, 'tool_calls'),
    ];
    const schema = { type: 'object', properties: {} };
    const tool =
      path === '/messages'
        ? { name: 'f', input_schema: schema }
        : path === '/responses'
          ? { type: 'function', name: 'f', parameters: schema }
          : { type: 'function', function: { name: 'f', parameters: schema } };
    const texts = await readTexts(path, 'openai-chat', frames, { tools: [tool] });
    expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
    expect(texts).toContain('😀');
  });
});

it('is not doubled if only the last event has the rest', async () => {
  const frames = responses(halves.slice(0, 2), halves.join(''));
  const texts = await readTexts('/chat/completions', 'openai-responses', frames);
  expect(texts.join('')).toBe('Hi 😀 there');
});
