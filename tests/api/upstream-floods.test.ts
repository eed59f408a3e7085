import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type SseFrame, sse } from '../../src/testing/scripted-responses.ts';
import { chatChunk, endFrames, type Lab, openFrames, openLab, stream, streamFrames, type WireName } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { expectFailure, expectText } from './outcome.ts';

const limit = 256 * 1024;
/** The bytes in transit when the limit is reached. */
const onTheWay = 1024 * 1024;
const word = 'flood '.repeat(1000);
/** Prevents that a single network read is a flood. */
const padding = { obfuscation: word };

let lab: Lab;
beforeAll(async () => {
  lab = await openLab({ server: { upstream_body_limit: limit } });
});
afterAll(() => lab.close());

/** The first frames, and the frame that is then repeated; `count` numbers it. */
interface Flood {
  wire: WireName;
  of: string;
  before?: object[];
  frame: (count: number) => object;
  /** Whether nothing of it is visible, so that the failure keeps its HTTP status. */
  isSilent?: true;
}

const responses = (of: string, item: object, frame: (count: number) => object): Flood => ({
  wire: 'openai-responses',
  of,
  before: [
    { type: 'response.created', response: { id: 'resp_up', status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { id: 'it_1', status: 'in_progress', ...item } },
  ],
  frame: (count) => ({ item_id: 'it_1', output_index: 0, content_index: 0, ...frame(count) }),
});
const message = { type: 'message', role: 'assistant', content: [] };
const reasoning = { type: 'reasoning', summary: [] };

const messages = (of: string, content_block: object, delta: object, isSilent?: true): Flood => ({
  wire: 'anthropic-messages',
  of,
  before: [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block },
  ],
  frame: () => ({ type: 'content_block_delta', index: 0, delta }),
  ...(isSilent && { isSilent }),
});

const gemini = (of: string, part: (count: number) => object, isSilent?: true): Flood => ({
  wire: 'gemini',
  of,
  frame: (count) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [part(count)] } }] }),
  ...(isSilent && { isSilent }),
});

const call = (index: number, name: object, text: string) =>
  chatChunk({ tool_calls: [{ index, ...name, function: { ...name, arguments: text } }] });
const annotation = {
  type: 'url_citation',
  url: `https://example.org/${word}`,
  title: 'A',
  start_index: 0,
  end_index: 1,
};

const floods: Flood[] = [
  { wire: 'openai-chat', of: 'text', frame: () => chatChunk({ content: word }) },
  { wire: 'openai-chat', of: 'text that is long as JSON', frame: () => chatChunk({ content: '\u0001'.repeat(1000) }) },
  { wire: 'openai-chat', of: 'reasoning', frame: () => chatChunk({ reasoning_content: word }) },
  { wire: 'openai-chat', of: 'refusals', frame: () => chatChunk({ refusal: word }) },
  { wire: 'openai-chat', of: 'arguments', frame: () => call(0, { id: 'call_1', name: 'f' }, word) },
  {
    wire: 'openai-chat',
    of: 'calls',
    frame: (count) => ({ ...call(count, { id: `call_${count}`, name: 'f' }, ''), ...padding }),
  },
  { wire: 'openai-chat', of: 'arguments of nothing', frame: () => call(0, {}, word), isSilent: true },
  { wire: 'openai-chat', of: 'annotations', frame: () => chatChunk({ content: 'a', annotations: [annotation] }) },
  {
    wire: 'openai-chat',
    of: 'images',
    frame: () => chatChunk({ images: [{ image_url: { url: `data:image/png;base64,${'A'.repeat(6000)}` } }] }),
  },
  {
    wire: 'openai-chat',
    of: 'items of one character',
    frame: () => ({ ...chatChunk({ content: 'a', reasoning_content: 'b' }), ...padding }),
  },
  {
    wire: 'openai-chat',
    of: 'logprobs',
    frame: () => ({
      ...chatChunk({ content: 'a' }),
      choices: [{ index: 0, delta: { content: 'a' }, logprobs: { content: [{ token: word, logprob: 0 }] } }],
    }),
  },
  responses('text', message, () => ({ type: 'response.output_text.delta', delta: word })),
  responses('refusals', message, () => ({ type: 'response.refusal.delta', delta: word })),
  responses('annotations', message, () => ({ type: 'response.output_text.annotation.added', annotation })),
  responses('finished parts', message, (count) => ({
    type: 'response.output_text.done',
    content_index: count,
    text: 'a',
    logprobs: [{ token: word, logprob: 0, bytes: [], top_logprobs: [] }],
  })),
  responses('reasoning', reasoning, () => ({ type: 'response.reasoning_text.delta', delta: word })),
  responses('summaries', reasoning, (count) => ({
    type: 'response.reasoning_summary_text.delta',
    summary_index: count,
    delta: 'a',
    ...padding,
  })),
  responses('arguments', { type: 'function_call', call_id: 'c', name: 'f', arguments: '' }, () => ({
    type: 'response.function_call_arguments.delta',
    delta: word,
  })),
  responses('images', message, (count) => ({
    type: 'response.output_item.done',
    item_id: undefined,
    output_index: count,
    item: { id: `ig_${count}`, type: 'image_generation_call', status: 'completed', result: 'A'.repeat(6000) },
  })),
  {
    ...responses('items that never say anything', message, (count) => ({
      type: 'response.output_item.added',
      output_index: count + 1,
      item: { ...message, id: `msg_${count}`, status: 'in_progress' },
    })),
    isSilent: true,
  },
  messages('text', { type: 'text', text: '' }, { type: 'text_delta', text: word }),
  messages('thoughts', { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: word }),
  messages('a signature', { type: 'thinking', thinking: '' }, { type: 'signature_delta', signature: word }, true),
  messages(
    'arguments',
    { type: 'tool_use', id: 't', name: 'f', input: {} },
    { type: 'input_json_delta', partial_json: word },
  ),
  messages(
    'the query of a search',
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'input_json_delta', partial_json: word },
    true,
  ),
  messages(
    'citations',
    { type: 'text', text: '' },
    {
      type: 'citations_delta',
      citation: { type: 'web_search_result_location', url: 'https://a.example', cited_text: word },
    },
    true,
  ),
  gemini('text', () => ({ text: word })),
  gemini('thoughts', () => ({ text: word, thought: true })),
  gemini('signatures', (count) => ({ text: `${count}`, thoughtSignature: 'A'.repeat(6000) })),
  gemini('calls', (count) => ({ functionCall: { name: 'f', args: { count, word } } })),
  gemini('images', () => ({ inlineData: { mimeType: 'image/png', data: 'A'.repeat(6000) } })),
  gemini(
    'images of thoughts',
    () => ({ thought: true, inlineData: { mimeType: 'image/png', data: 'A'.repeat(6000) } }),
    true,
  ),
];

async function* endless({ before = [], frame }: Flood, counter: { bytes: number }): AsyncGenerator<SseFrame> {
  yield* before;
  for (let count = 0; ; count++) {
    const next = frame(count);
    counter.bytes += JSON.stringify(next).length;
    yield next;
  }
}

describe.each(floods)('$wire, an endless stream of $of', (flood) => {
  const { wire, isSilent } = flood;

  it('ends as an interrupted stream, its request is aborted, and it is in the ledger', async () => {
    const counter = { bytes: 0 };
    lab.upstream.always(stream(wire, endless(flood, counter)));
    const session_id = newSession();

    const outcome = await lab.ask({ wire, mode: 'streamed' }, { body: { session_id } });

    if (isSilent) expectFailure(outcome, 502, 'provider_unavailable', /upstream_body_limit/);
    else {
      expect(outcome.status).toBe(200);
      expect(outcome.response).toMatchObject({
        status: 'failed',
        error_type: 'provider_unavailable',
        error: { code: 'server_error', message: expect.stringMatching(/262144 bytes \(upstream_body_limit\)/) },
      });
      expect(outcome.text.length).toBeLessThan(8 * onTheWay);
    }
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
    expect(counter.bytes).toBeLessThan(limit + 8 * onTheWay);
    const [row] = await rowsOf(lab.gateway.dataDir, session_id);
    expect(row).toMatchObject({ outcome: 'failed', status: 502 });
  });

  it('is a failure for a buffered client', async () => {
    lab.upstream.always(stream(wire, endless(flood, { bytes: 0 })));

    const outcome = await lab.ask({ wire, mode: 'buffered' });

    expectFailure(outcome, 502, 'provider_unavailable', /upstream_body_limit/);
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  });
});

describe.each<WireName>(['openai-chat', 'openai-responses'])('%s, a long stream within the limit', (wire) => {
  it('is not measured by what is around its deltas', async () => {
    const pieces = Array.from({ length: 6000 }, (_, index) => `word ${index} `);
    const frames = streamFrames(wire, pieces);
    expect(JSON.stringify(frames).length).toBeGreaterThan(3 * limit);
    lab.upstream.always(stream(wire, frames));

    expectText(await lab.ask({ wire, mode: 'streamed' }), pieces.join(''));
  });

  it('may repeat its text in its last events', async () => {
    const pieces = Array.from({ length: 40 }, () => word);
    expect(pieces.join('').length).toBeGreaterThan(0.9 * limit);
    lab.upstream.always(stream(wire, streamFrames(wire, pieces)));

    expectText(await lab.ask({ wire, mode: 'streamed' }), pieces.join(''));
  });
});

describe('small values that a provider makes long or many', () => {
  it('a body with very many annotations is a failure', async () => {
    const annotations = Array.from({ length: 5000 }, (_, index) => ({ type: 'file_path', index }));
    const choice = { index: 0, message: { role: 'assistant', content: 'a', annotations }, finish_reason: 'stop' };
    lab.upstream.always(json({ choices: [choice] }));

    for (const mode of ['buffered', 'streamed'] as const) {
      const outcome = await lab.ask({ wire: 'openai-chat', mode });
      expectFailure(outcome, 502, 'provider_unavailable', /upstream_body_limit/);
    }
  });

  it('names of dropped fields are truncated, and at most a hundred are listed', async () => {
    const names = Array.from({ length: 300 }, (_, index) => [`name_${index}_${'z'.repeat(300)}`, 1]);
    const frames = openFrames('openai-chat', ['Hello']).map((frame) => ({ ...frame, ...Object.fromEntries(names) }));
    lab.upstream.always(stream('openai-chat', [...frames.slice(0, 1), ...endFrames('openai-chat', '')]));

    const { status, text, response } = await lab.ask(
      { wire: 'openai-chat', mode: 'streamed' },
      { headers: { 'x-router-metadata': 'enabled' } },
    );

    expect(status, text).toBe(200);
    const dropped = response?.router_metadata?.params?.['dropped_upstream_fields'] as string[];
    expect(dropped).toHaveLength(101);
    expect(dropped.at(-1)).toBe('…');
    expect(Math.max(...dropped.map(({ length }) => length))).toBe(200);
  });

  it('an id of an item is not repeated in each delta if it is very long', async () => {
    const long = 'msg_'.repeat(1000);
    const frames = JSON.stringify(streamFrames('openai-responses')).replaceAll('msg_up', long);
    lab.upstream.always(stream('openai-responses', JSON.parse(frames) as object[]));

    const outcome = await lab.ask({ wire: 'openai-responses', mode: 'streamed' });

    expectText(outcome, 'Hello there.');
    expect(outcome.response?.output[0]?.id).toMatch(/^msg_\w{24}$/);
    expect(outcome.text).not.toContain(long);
  });

  it('a frame of very many empty lines is too large', async () => {
    lab.upstream.always(sse('data:\n'.repeat(20_000)));

    const outcome = await lab.ask({ wire: 'openai-chat', mode: 'streamed' });

    expectFailure(outcome, 502, 'provider_unavailable', /larger than 262144 bytes/);
  });
});
