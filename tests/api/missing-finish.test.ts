import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { chatChunk, type Lab, openLab, stream, wholeBody } from './lab.ts';
import { expectBroken, expectFailure, expectText } from './outcome.ts';

/**
 * Some servers end a stream with `[DONE]` and never send a reason: waybarrios/vllm-mlx#628 after a text,
 * openclaw/openclaw#98575 after calls. OpenAI itself has sent buffered responses without one: openai/openai-openapi#20.
 */
let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const wire = 'openai-chat' as const;
const headers = { 'x-router-metadata': 'enabled' };
const hello = [
  chatChunk({ role: 'assistant', content: '' }),
  chatChunk({ content: 'Hel' }),
  chatChunk({ content: 'lo' }),
];
const call = (args: string) => [
  chatChunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }] }),
  ...args.split('|').map((piece) => chatChunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
];
const adapted = { params: { adapted: ['the finish reason of the response'] } };

/** A buffered response with the message and without a reason. */
function withoutReason(message: object): Record<string, unknown> {
  const body = wholeBody(wire) as { choices: object[] };
  return { ...body, choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: null }] };
}

describe.each(['buffered', 'streamed'] as const)('a response without a reason, %s,', (mode) => {
  const ask = () => lab.ask({ wire, mode }, { headers });

  it('is complete after [DONE], and says what was inferred', async () => {
    lab.upstream.respond(stream(wire, hello));
    expect(expectText(await ask(), 'Hello').router_metadata).toMatchObject(adapted);
  });

  it.each(['{"a":|"}\\"|{"}', '{}'])('has its calls if they are whole: %s', async (args) => {
    lab.upstream.respond(stream(wire, [...hello, ...call(args)]));
    const { response } = await ask();
    expect(response).toMatchObject({ status: 'completed', router_metadata: adapted });
    expect(response?.output.at(-1)).toMatchObject({ type: 'function_call', arguments: args.replaceAll('|', '') });
  });

  it.each(['{"a":|{}', '{"a": "}', '{', ''])('fails if the arguments of a call are not whole: %s', async (args) => {
    lab.upstream.respond(stream(wire, call(args)));
    const outcome = await ask();
    if (mode === 'buffered') expectFailure(outcome, 502, 'provider_unavailable', /ended its response in the middle/);
    else expect(outcome.response).toMatchObject({ status: 'failed', error_type: 'provider_unavailable' });
  });

  it('fails without [DONE]', async () => {
    lab.upstream.respond(stream(wire, hello, { done: false }));
    const outcome = await ask();
    if (mode === 'buffered') expectFailure(outcome, 502, 'provider_unavailable', /ended its response in the middle/);
    else expectBroken(outcome, 'provider_unavailable', 'Hello');
  });

  it.each([
    ['nothing', []],
    ['reasoning alone', [chatChunk({ reasoning_content: 'Hm.' })]],
  ])('fails after %s', async (_what, frames) => {
    lab.upstream.respond(stream(wire, frames));
    const { response } = await ask();
    expect(response?.status ?? 'failed').toBe('failed');
  });

  it('is complete if the provider sent the whole body', async () => {
    lab.upstream.respond(json(withoutReason({ content: 'Hello' })));
    expect(expectText(await ask(), 'Hello').router_metadata).toMatchObject(adapted);
    lab.upstream.respond(json(withoutReason({ content: '' })));
    expect((await ask()).response?.status ?? 'failed').toBe('failed');
  });
});

it.each([
  ['a text', hello, 'stop'],
  ['calls', [...hello, ...call('{"a":1}')], 'tool_calls'],
])('a chat completion of %s gets the reason, and no word of the provider', async (_what, frames, reason) => {
  const body = { model: `${wire}/patient`, messages: [{ role: 'user', content: 'Hi' }] };
  lab.upstream.respond(stream(wire, frames));
  const whole = (await (await lab.gateway.post('/chat/completions', body)).json()) as { choices: object[] };
  expect(whole.choices).toMatchObject([{ finish_reason: reason, native_finish_reason: null }]);
  lab.upstream.respond(stream(wire, frames));
  const text = await (await lab.gateway.post('/chat/completions', { ...body, stream: true })).text();
  expect(text).toContain(`"finish_reason":"${reason}","native_finish_reason":null`);
});
