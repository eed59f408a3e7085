import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider } from './lab.ts';

/** Signatures of Gemini for clients of chat completions: https://github.com/intrafind/ihub-apps/pull/2240. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ path }) => {
    if (path.endsWith('/messages')) {
      const content = [{ type: 'text', text: 'Done.' }];
      return json({ type: 'message', content, stop_reason: 'end_turn' });
    }
    return json({ candidates: [{ content: { parts: [{ text: 'Done.' }] }, finishReason: 'STOP' }] });
  });
  const models = [{ model: 'm', upstream_model: 'gemini-3-pro-preview' }];
  gateway = await testGateway({
    providers: [provider('gemini', 'one', upstream, { models }), provider('anthropic-messages', 'other', upstream)],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const signature = 'U2lnbmVk';
const parts = [
  { text: 'Both are needed.', thought: true },
  { functionCall: { id: 'a', name: 'look', args: { x: 1 } }, thoughtSignature: signature },
  { functionCall: { id: 'b', name: 'look', args: { x: 2 } } },
];
const candidate = { content: { role: 'model', parts }, finishReason: 'STOP', index: 0 };
const answer = { candidates: [candidate], usageMetadata: { promptTokenCount: 1, totalTokenCount: 9 } };
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }];
const user = { role: 'user', content: 'Look.' };

interface Call {
  id: string;
  extra_content?: unknown;
}
interface Message {
  tool_calls: Call[];
  reasoning_details: object[];
}

const ask = async (body: object, model = 'm') => {
  const response = await gateway.post('/chat/completions', { model, tools, ...body });
  const text = await response.text();
  return { text, status: response.status, dropped: response.headers.get('x-router-dropped-fields') };
};

async function readMessage(): Promise<Message> {
  upstream.respond(json(answer));
  const { text } = await ask({ messages: [user] });
  return (JSON.parse(text) as { choices: { message: Message }[] }).choices[0]!.message;
}

const results = ['a', 'b'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'seen' }));
const sentParts = () => (upstream.requests.at(-1)!.body as { contents: { parts: object[] }[] }).contents[1]!.parts;
const signed = [{ thoughtSignature: signature, functionCall: { id: 'a' } }, { functionCall: { id: 'b' } }];

describe('a signature of Gemini in chat completions', () => {
  it('is on its call, and on no other', async () => {
    const { tool_calls: calls } = await readMessage();
    expect(calls.map(({ extra_content: extra }) => extra)).toEqual([
      { google: { thought_signature: signature } },
      undefined,
    ]);
  });

  it.each([
    ['after a thought', [answer]],
    ['after a text', [{ candidates: [{ content: { parts: [{ text: 'Both.' }] } }] }, answer]],
  ])('is on its call in a stream, %s', async (_, frames) => {
    upstream.respond(sse(frames));
    const { text } = await ask({ messages: [user], stream: true });
    const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as object);
    const calls = chunks.flatMap((chunk) => {
      const { choices } = chunk as { choices: { delta: Partial<Message> }[] };
      return choices.flatMap(({ delta }) => delta.tool_calls?.filter(({ id }) => id) ?? []);
    });
    expect(calls).toMatchObject([
      { index: 0, id: 'a', extra_content: { google: { thought_signature: signature } } },
      { index: 1, id: 'b' },
    ]);
    expect(calls[1]).not.toHaveProperty('extra_content');
  });

  it.each([
    ['calls alone', ({ tool_calls }: Message) => ({ tool_calls })],
    ['calls and reasoning', ({ tool_calls }: Message) => ({ tool_calls, reasoning: 'Both are needed.' })],
    ['the whole message', (message: Message) => message],
    [
      'the blocks of reasoning alone',
      ({ tool_calls, reasoning_details }: Message) => ({
        reasoning_details,
        tool_calls: tool_calls.map(({ extra_content: _, ...call }) => call),
      }),
    ],
  ])('goes back to Gemini from %s', async (_, keep) => {
    const message = { role: 'assistant', content: null, ...keep(await readMessage()) };
    await ask({ messages: [user, message, ...results] });
    expect(sentParts()).toMatchObject(signed);
    expect(sentParts()).toHaveLength(2);
    expect(sentParts()[1]).not.toHaveProperty('thoughtSignature');
  });

  it('of Vertex goes back, too', async () => {
    const { tool_calls: calls } = await readMessage();
    const [first, second] = calls;
    const vertex = { ...first, extra_content: { vertex: { thought_signature: signature } } };
    await ask({ messages: [user, { role: 'assistant', tool_calls: [vertex, second] }, ...results] });
    expect(sentParts()).toMatchObject(signed);
  });

  it('is not sent to Claude', async () => {
    const { tool_calls } = await readMessage();
    const messages = [user, { role: 'assistant', tool_calls }, ...results];
    const { dropped } = await ask({ messages }, 'anthropic-messages/other');
    expect(JSON.stringify(upstream.requests.at(-1)!.body)).not.toContain(signature);
    expect(dropped).toMatch(/^messages\[1\]\.tool_calls\[0\]\.extra_content/);
  });

  it.each([
    { other: 1 },
    { google: null },
    { google: { thought_signature: '' } },
    'x',
  ])('is absent from %j', async (extra) => {
    const { tool_calls: calls } = await readMessage();
    const first = { ...calls[0], extra_content: extra };
    const messages = [user, { role: 'assistant', tool_calls: [first, calls[1]] }, ...results];
    const { dropped } = await ask({ messages });
    expect(dropped).toBe('messages[1].tool_calls[0].extra_content');
    expect(sentParts()[0]).toMatchObject({ thoughtSignature: 'skip_thought_signature_validator' });
  });
});
