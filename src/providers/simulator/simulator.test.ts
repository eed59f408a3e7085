import { afterEach, expect, it, vi } from 'vitest';
import type { Chunk, FinishChunk } from '../../domain/chunks.ts';
import type { InputItem, Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target } from '../wire.ts';
import { simulator } from './index.ts';

afterEach(() => {
  vi.useRealTimers();
});

const target: Target = { endpoint: 'simulator/echo at Simulator', upstreamModel: 'echo', stream: true, dialect: {} };
const user = (content: string): InputItem => ({ type: 'message', role: 'user', content });
const answered = (callId: string, output: string): InputItem => ({
  type: 'function_call_output',
  call_id: callId,
  output,
});
const called = (callId: string, name: string): InputItem => ({
  type: 'function_call',
  call_id: callId,
  name,
  arguments: '{}',
});

type Asked = Omit<Partial<ResponseRequest>, 'input'> & { input?: string | InputItem[]; model?: string };

function write({ model = 'echo', input = 'Hello there, world', ...rest }: Asked) {
  const items = typeof input === 'string' ? [user(input)] : input;
  return simulator.text.writeRequest({ ...rest, input: items }, { ...target, upstreamModel: model });
}

async function* batches(asked: Asked, signal = new AbortController().signal): AsyncGenerator<Chunk[]> {
  const written = write(asked);
  const reader = simulator.text.createReader(written.readerContext);
  for await (const frames of simulator.text.send!(written, signal)) yield frames.flatMap((frame) => reader.read(frame));
  yield reader.end();
}

async function collect<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

async function request(asked: Asked): Promise<Chunk[]> {
  return (await collect(batches(asked))).flat();
}

const ofType = <Type extends Chunk['type']>(chunks: Chunk[], type: Type) =>
  chunks.filter((chunk): chunk is Extract<Chunk, { type: Type }> => chunk.type === type);
const joined = (
  chunks: Chunk[],
  type: 'text' | 'reasoning' | 'reasoning_summary' | 'refusal' | 'tool_call_arguments',
) =>
  ofType(chunks, type)
    .map((chunk) => chunk.delta)
    .join('');
const text = (chunks: Chunk[]) => joined(chunks, 'text');
const finish = (chunks: Chunk[]): FinishChunk => ofType(chunks, 'finish')[0]!;
const calls = (chunks: Chunk[]) =>
  ofType(chunks, 'tool_call').map(({ callId, name }) => [
    name,
    ofType(chunks, 'tool_call_arguments')
      .filter((chunk) => chunk.callId === callId)
      .map((chunk) => chunk.delta)
      .join(''),
  ]);

const weather: Tool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const patch: Tool = { type: 'custom', name: 'patch' };
const tools = [weather, patch];

it('echoes the last user message, word by word, and counts a token per four characters', async () => {
  expect(await request({ input: [user('Before'), user('Hello there, world')] })).toEqual([
    { type: 'start', model: 'echo' },
    { type: 'text', delta: 'Hello' },
    { type: 'text', delta: ' there,' },
    { type: 'text', delta: ' world' },
    {
      type: 'finish',
      reason: 'stop',
      usage: { inputTokens: 6, outputTokens: 5, totalTokens: 11, cachedTokens: 0, reasoningTokens: 0 },
    },
  ]);
});

it('reads the parts of a message, and counts media by the piece', async () => {
  const content = [
    { type: 'input_text' as const, text: 'What is this?' },
    { type: 'input_image' as const, image_url: 'data:image/png;base64,AAAA' },
  ];
  const chunks = await request({ input: [{ type: 'message', role: 'user', content }] });
  expect(text(chunks)).toBe('What is this?');
  expect(finish(chunks).usage?.inputTokens).toBe(4 + 64);
});

it.each(['echo', 'writer', 'reasoner', 'image'])('responds to the same request the same way: %s', async (model) => {
  const asked: Asked = { model, input: 'Why is the sky blue?', tools };
  expect(await request(asked)).toEqual(await request(asked));
});

it('ends as incomplete where max_output_tokens is reached, and counts no more than that', async () => {
  const chunks = await request({ max_output_tokens: 3 });
  expect(text(chunks)).toBe('Hello there,');
  expect(finish(chunks)).toMatchObject({ reason: 'length', usage: { outputTokens: 3 } });
});

it('never cuts a character in two', async () => {
  expect(text(await request({ input: '123😀', max_output_tokens: 1 }))).toBe('123');
});

it('is not incomplete if the response just fits', async () => {
  expect(finish(await request({ input: '12345678', max_output_tokens: 2 })).reason).toBe('stop');
});

it('writes prose: as much as fits, or as many words as requested', async () => {
  const free = await request({ model: 'writer', input: 'On cats' });
  expect(text(free).split(' ').length).toBeGreaterThan(80);
  const short = await request({ model: 'writer', input: 'On cats', max_output_tokens: 60 });
  expect(finish(short)).toMatchObject({ reason: 'stop' });
  expect(text(short)).toMatch(/\.$/);
  expect(text(short)).toContain('“On cats”');
  expect(text(await request({ model: 'writer', input: 'On cats [[words 500]]' })).split(' ')).toHaveLength(500);
});

it('reasons first, with a summary if one is requested', async () => {
  const chunks = await request({ model: 'reasoner', input: 'Why?', reasoning: { effort: 'low', summary: 'auto' } });
  const kinds = [...new Set(chunks.map((chunk) => chunk.type))];
  expect(kinds).toEqual(['start', 'reasoning_summary', 'reasoning', 'text', 'finish']);
  expect(joined(chunks, 'reasoning').split('\n')).toHaveLength(3);
  expect(joined(chunks, 'reasoning_summary')).toBe('Thought about “Why?”.');
  expect(text(chunks)).toBe('After some thought: Why?');
  const { reasoningTokens, outputTokens } = finish(chunks).usage!;
  expect(reasoningTokens).toBe(Math.ceil(joined(chunks, 'reasoning').length / 4));
  expect(outputTokens).toBe(reasoningTokens + 6);
});

it('reasons less or not at all if requested', async () => {
  const reasoned = async (reasoning: ResponseRequest['reasoning']) =>
    joined(await request({ model: 'reasoner', input: 'Why?', reasoning }), 'reasoning');
  expect(await reasoned({ effort: 'none' })).toBe('');
  expect(await reasoned({ enabled: false })).toBe('');
  expect(await reasoned({ max_tokens: 2 })).toBe('The ques');
  expect(await reasoned({ effort: 'max' })).toContain('\n9. ');
});

it('takes its effort from the last update in the input', async () => {
  const input: InputItem[] = [{ type: 'configuration_update', reasoning: { effort: 'none' } }, user('Why?')];
  expect(joined(await request({ model: 'reasoner', input, reasoning: { effort: 'high' } }), 'reasoning')).toBe('');
});

it('draws an image that is a PNG', async () => {
  const [item] = ofType(await request({ model: 'image', input: 'A cat' }), 'item_done');
  expect(item?.item).toMatchObject({ type: 'image_generation_call', status: 'completed', prompt: 'A cat' });
  const png = Buffer.from(String(item?.item['result']), 'base64');
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([256, 256]);
});

it('fills a schema if the format requests one', async () => {
  const format = { type: 'json_schema' as const, name: 'city', schema: { properties: { city: { type: 'string' } } } };
  expect(text(await request({ text: { format } }))).toBe('{"city":"city"}');
  expect(text(await request({ text: { format: { type: 'json_object' } } }))).toBe('{"answer":"Hello there, world"}');
});

it('calls the tools that the prompt names, in parallel', async () => {
  const chunks = await request({
    input: '[[say Looking.]] [[call get_weather {"city":"Paris"}]] [[call patch +a]]',
    tools,
  });
  expect(text(chunks)).toBe('Looking.');
  expect(calls(chunks)).toEqual([
    ['get_weather', '{"city":"Paris"}'],
    ['patch', '+a'],
  ]);
  const [first, second] = ofType(chunks, 'tool_call');
  expect([first?.kind, second?.kind]).toEqual(['function', 'custom']);
  expect(first?.callId).not.toBe(second?.callId);
  expect(finish(chunks).reason).toBe('tool_calls');
});

it('makes up arguments, and sends broken ones as they stand', async () => {
  expect(calls(await request({ input: '[[call get_weather]]', tools }))).toEqual([['get_weather', '{"city":"city"}']]);
  expect(calls(await request({ input: '[[call get_weather {"city":]]', tools }))).toEqual([
    ['get_weather', '{"city":'],
  ]);
});

it('calls a tool of a group, or one that was offered later', async () => {
  const group: Tool = { type: 'namespace', name: 'crm', description: 'x', tools: [{ type: 'function', name: 'find' }] };
  const later: InputItem = { type: 'additional_tools', role: 'developer', tools: [patch] };
  const chunks = await request({ input: [later, user('[[call crm.find {}]] [[call patch p]]')], tools: [group] });
  expect(ofType(chunks, 'tool_call')).toMatchObject([{ name: 'find', namespace: 'crm' }, { name: 'patch' }]);
});

it('calls one tool at a time when parallel calls are off', async () => {
  const asked: Asked = { input: '[[call patch a]] [[call patch b]]', tools, parallel_tool_calls: false };
  expect(calls(await request(asked))).toEqual([['patch', 'a']]);
});

it.each([
  ['a tool that is not offered', { input: '[[call other {}]]', tools }],
  ['a tool if none must be called', { input: '[[call other {}]]', tools, tool_choice: 'none' as const }],
])('reports that it cannot call %s', async (_, asked) => {
  const chunks = await request(asked);
  expect(calls(chunks)).toEqual([]);
  expect(text(chunks)).toBe('I was offered no tool named other.');
});

it.each([
  ['required', 'required' as const, 'get_weather'],
  ['a function', { type: 'function' as const, name: 'get_weather' }, 'get_weather'],
  ['a custom tool', { type: 'custom' as const, name: 'patch' }, 'patch'],
  [
    'one of several',
    { type: 'allowed_tools' as const, mode: 'required' as const, tools: [{ type: 'custom', name: 'patch' }] },
    'patch',
  ],
])('calls a tool if tool_choice is %s, until there is a tool output', async (_, choice, name) => {
  const chunks = await request({ tools, tool_choice: choice });
  expect(calls(chunks).map(([called]) => called)).toEqual([name]);
  expect(text(chunks)).toBe('');
  const input = [user('Hello'), called('c1', name), answered('c1', 'done')];
  expect(text(await request({ input, tools, tool_choice: choice }))).toBe(`${name} returned: done`);
});

it.each([
  ['router_helper', 'Why?'],
  ['helper', 'prompt'],
])('calls %s with the prompt %j', async (name, prompt) => {
  const parameters = { type: 'object', properties: { prompt: { type: 'string' } } };
  const chunks = await request({
    input: 'Why?',
    tools: [{ type: 'function', name, parameters }],
    tool_choice: 'required',
  });
  expect(calls(chunks)).toEqual([[name, JSON.stringify({ prompt })]]);
});

it('quotes the tool outputs and does not call the tools again', async () => {
  const input = [
    user('[[call get_weather]] [[call patch a]]'),
    called('c1', 'get_weather'),
    called('c2', 'patch'),
    answered('c1', '21 °C'),
    { type: 'custom_tool_call_output' as const, call_id: 'c2', output: [{ type: 'input_text' as const, text: 'ok' }] },
  ];
  const chunks = await request({ input, tools });
  expect(calls(chunks)).toEqual([]);
  expect(text(chunks)).toBe('get_weather returned: 21 °C\npatch returned: ok');
});

it('goes through turns, one for each round of tool outputs', async () => {
  const prompt = user('[[call patch a]] [[then]] [[call patch b]] [[then]] [[say done]]');
  const first = [called('c1', 'patch'), answered('c1', '1')];
  const second = [called('c2', 'patch'), answered('c2', '2')];
  const told = async (input: InputItem[]) => request({ input, tools });
  expect(calls(await told([prompt]))).toEqual([['patch', 'a']]);
  expect(calls(await told([prompt, ...first]))).toEqual([['patch', 'b']]);
  expect(text(await told([prompt, ...first, ...second]))).toBe('done');
  expect(text(await told([prompt, ...first, ...second, user('And now?')]))).toBe('And now?');
});

it('gives each call of a conversation an id of its own', async () => {
  const prompt = user('[[call patch a]] [[then]] [[call patch a]]');
  const ids = await Promise.all(
    [[prompt], [prompt, called('c1', 'patch'), answered('c1', '1')]].map(
      async (input) => ofType(await request({ input, tools }), 'tool_call')[0]?.callId,
    ),
  );
  expect(new Set(ids).size).toBe(2);
});

it('follows directives of the instructions, and those of the user first', async () => {
  const chunks = await request({ instructions: '[[say A]] [[finish length]]', input: '[[say B]] [[finish stop]]' });
  expect(text(chunks)).toBe('AB');
  expect(finish(chunks).reason).toBe('stop');
});

it('refuses, reasons and cites on request', async () => {
  const chunks = await request({
    input: '[[reason Hm.]] [[say See here.]] [[cite https://example.com/a A]] [[refuse No.]]',
  });
  expect(joined(chunks, 'reasoning')).toBe('Hm.');
  expect(joined(chunks, 'refusal')).toBe('No.');
  expect(ofType(chunks, 'annotation')).toEqual([
    {
      type: 'annotation',
      annotation: { type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 9 },
    },
  ]);
});

it('returns log probabilities if the request or the prompt asks for them', async () => {
  for (const asked of [{ input: 'Hé', top_logprobs: 2 }, { input: 'Hé [[logprobs 2]]' }]) {
    const [chunk] = ofType(await request(asked), 'text');
    expect(chunk?.logprobs).toMatchObject([
      { token: 'Hé', bytes: [72, 195, 169], top_logprobs: [{ token: 'Hé' }, { token: ' maybe' }] },
    ]);
  }
  const [chunk] = ofType(await request({ include: ['message.output_text.logprobs'] }), 'text');
  expect(chunk?.logprobs).toMatchObject([{ top_logprobs: [] }]);
});

it('reports the requested usage, or none', async () => {
  const told = finish(await request({ input: 'Hi [[usage {"input":100,"cached":80}]]' }));
  expect(told.usage).toMatchObject({ inputTokens: 100, cachedTokens: 80, outputTokens: 1, totalTokens: 101 });
  expect(finish(await request({ input: 'Hi [[usage none]]' })).usage).toBe(undefined);
});

it.each([
  ['a limit', '[[fail 429 7s Slow down]]', { kind: 'rate_limited', retryable: true, retryAfterSeconds: 7 }],
  ['an overload', '[[fail 503]]', { kind: 'upstream_overloaded', retryable: true }],
  ['a bad request', '[[fail 400 No good]]', { kind: 'upstream_rejected', retryable: false }],
])('fails before the first frame with %s', async (_, input, error) => {
  await expect(batches({ input }).next()).rejects.toMatchObject(error);
});

it('knows its models by their whole slugs, as an entry without upstream_model names them', async () => {
  expect(await request({ model: 'simulator/echo' })).toEqual(await request({ model: 'echo' }));
});

it('responds to an unknown model as a provider would: with a 404', async () => {
  const answer = batches({ model: 'constructor' }).next();
  await expect(answer).rejects.toMatchObject({ kind: 'model_unavailable', message: expect.stringContaining('404') });
  await expect(answer).rejects.toThrow('It has echo, writer, reasoner, image.');
});

it.each([
  ['cuts', '[[cut 2]]', 'upstream_failed'],
  ['breaks', '[[break 2 503 Too busy]]', 'upstream_overloaded'],
])('%s the stream after some tokens, without a finish', async (_, directive, kind) => {
  const written = write({ input: `Hello there, world ${directive}` });
  const frames = (await collect(simulator.text.send!(written, new AbortController().signal))).flat();
  const reader = simulator.text.createReader(written.readerContext);
  const chunks: Chunk[] = [];
  const read = () => {
    for (const frame of frames) chunks.push(...reader.read(frame));
    reader.end();
  };
  expect(read).toThrow(expect.objectContaining({ kind }));
  expect(text(chunks)).toBe('Hello there,');
});

it('falls silent after some tokens, until it is aborted', async () => {
  const client = new AbortController();
  const answer = batches({ input: 'Hello there, world [[stall 2]]' }, client.signal);
  expect(text((await answer.next()).value)).toBe('Hello');
  expect(text((await answer.next()).value)).toBe(' there,');
  const silence = answer.next();
  client.abort(new Error('gone'));
  await expect(silence).rejects.toThrow('gone');
});

it('waits before the first frame and between tokens', async () => {
  vi.useFakeTimers();
  const answer = batches({ input: 'Hello there [[wait 500]] [[slow 40]]' });
  const first = answer.next();
  await vi.advanceTimersByTimeAsync(499);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(text((await first).value)).toBe('Hello');
  const second = answer.next();
  await vi.advanceTimersByTimeAsync(40);
  expect(text((await second).value)).toBe(' there');
});

it.each(['[[wait 600000]]', '[[slow 600000]]'])('stops at once when it is aborted during %s', async (directive) => {
  const client = new AbortController();
  const answer = batches({ input: `Hello there ${directive}` }, client.signal);
  const all = collect(answer);
  client.abort(new Error('gone'));
  await expect(all).rejects.toThrow('gone');
});

it('sends long responses in batches and yields between them', async () => {
  const seen = await collect(batches({ input: '[[words 200]] word' }));
  expect(seen.length).toBeGreaterThan(3);
  expect(text(seen.flat()).split(' ')).toHaveLength(200);
});

it('reads a whole response into the chunks of its stream', async () => {
  const written = write({ input: '[[reason Hm]] [[say Hi]] [[call patch a]]', tools });
  const frames = (await collect(simulator.text.send!(written, new AbortController().signal))).flat();
  const whole = simulator.text.readWhole(
    frames.map((frame) => JSON.parse(frame.data)),
    written.readerContext,
  );
  expect(whole).toEqual(await request({ input: '[[reason Hm]] [[say Hi]] [[call patch a]]', tools }));
  expect(() => simulator.text.readWhole([], written.readerContext)).toThrow('before its response was complete');
  expect(() => simulator.text.readWhole({}, written.readerContext)).toThrow('before its response was complete');
});

it('names what it leaves out, and refuses what only real providers have', () => {
  expect(write({ temperature: 1, top_p: null, text: { verbosity: 'low' } }).dropped).toEqual([
    'temperature',
    'text.verbosity',
  ]);
  const refused = (asked: Asked) => () => write(asked);
  expect(write({ tools: [{ type: 'web_search' }] }).dropped).toEqual(['tools[0] (web_search)']);
  expect(refused({ tools: [{ type: 'web_search' }], tool_choice: 'required' })).toThrow('tool_choice:');
  expect(refused({ tools: [{ type: 'shell' }] })).toThrow('no sandbox of the gateway can');
  expect(refused({ tools: [{ type: 'shell' }] })).toThrow('tools[0]: simulator/echo at Simulator cannot take this');
  expect(refused({ prompt: { id: 'p' } })).toThrow('prompt:');
  expect(refused({ input: [{ type: 'item_reference', id: 'x' }] })).toThrow('input[0]:');
});
