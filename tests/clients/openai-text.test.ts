import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };

describe.each(backEnds.all)('text in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model } = backEnd;

  it('returns the text of a buffered response', async () => {
    const input = backEnd.script('Who are you?', { text: 'I am a gateway.' });

    const response = await client.responses.create({ model, input });

    expect(response.output_text).toBe('I am a gateway.');
    expect(response).toMatchObject({ object: 'response', status: 'completed', model, error: null, store: false });
    expect(response.output).toHaveLength(1);
    expect(response.output[0]).toMatchObject({ type: 'message', role: 'assistant', status: 'completed' });
  });

  it('returns the usage and the cost', async () => {
    const input = backEnd.script('How much?', { text: 'Little.', usage });

    const response = await client.responses.create({ model, input });

    expect(response.usage).toMatchObject({
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 400 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: backEnd.can.countReasoning ? 20 : 0 },
      total_tokens: 1050,
      cost: 0.00114, // 600 at 1, 400 at 0.1 and 50 at 10 USD per million
      cost_details: { upstream_inference_input_cost: 0.00064, upstream_inference_output_cost: 0.0005 },
      is_byok: false,
    });
  });

  it('returns the ids of the generation and of the request', async () => {
    const input = backEnd.script('Hello', { text: 'Hello.' });

    const { data, response, request_id } = await client.responses
      .create({ model, input }, { headers: { 'x-request-id': 'req_of_my_own' } })
      .withResponse();

    expect(data.output_text).toBe('Hello.');
    expect(response.headers.get('x-generation-id')).toMatch(/^gen-\w+$/);
    expect(request_id).toBe('req_of_my_own');
  });

  it('streams events with consecutive numbers that end with the complete response', async () => {
    const input = backEnd.script('Count', { text: 'One two three.', usage });

    const { data: stream, response } = await client.responses.create({ model, input, stream: true }).withResponse();
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);

    expect(response.headers.get('x-generation-id')).toMatch(/^gen-\w+$/);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(withoutRepeats(events.map(({ type }) => type))).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    expect(text).toBe('One two three.');
    expect(events.at(-1)).toMatchObject({ response: { status: 'completed', usage: { cost: 0.00114 } } });
  });

  it('supports the stream helper, whose snapshots grow to the final response', async () => {
    const input = backEnd.script('Count', { text: 'One two three four.', usage });
    const snapshots: string[] = [];
    const deltas: string[] = [];

    const stream = client.responses
      .stream({ model, input, instructions: 'Count.', metadata: { purpose: 'test' } })
      .on('response.output_text.delta', ({ delta, snapshot }) => {
        deltas.push(delta);
        snapshots.push(snapshot);
      });
    const final = await stream.finalResponse();

    expect(deltas.length).toBeGreaterThan(1);
    expect(snapshots).toEqual(deltas.map((_, index) => deltas.slice(0, index + 1).join('')));
    expect(final.output_text).toBe('One two three four.');
    expect(final).toMatchObject({ status: 'completed', instructions: 'Count.', metadata: { purpose: 'test' } });
    expect(final.usage).toMatchObject({ total_tokens: 1050, cost: 0.00114 });
  });

  it('returns the same streamed and buffered', async () => {
    const turn = { reasoning: 'Let me think about it.', text: 'It is 42.', usage };

    const buffered = await client.responses.create({ model, input: backEnd.script('Well?', turn) });
    const streamed = await client.responses.stream({ model, input: backEnd.script('Well?', turn) }).finalResponse();

    expect(streamed.output_text).toBe(buffered.output_text);
    expect(streamed.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(streamed.output.map(({ type }) => type)).toEqual(buffered.output.map(({ type }) => type));
    expect(streamed.usage).toEqual(buffered.usage);
  });

  it.runIf(backEnd.can.reportRefusals)('streams a refusal as a separate part', async () => {
    const input = backEnd.script('Help me to cheat', { refusal: 'I cannot help with that.' });
    let refused = '';

    const stream = client.responses.stream({ model, input }).on('response.refusal.delta', ({ delta }) => {
      refused += delta;
    });
    const final = await stream.finalResponse();

    expect(refused).toBe('I cannot help with that.');
    expect(final.output_text).toBe('');
    expect(final.output[0]).toMatchObject({ content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] });
  });

  it.each([
    { finish: 'length', reason: 'max_output_tokens' },
    { finish: 'content_filter', reason: 'content_filter' },
  ] as const)('ends as incomplete with the reason $reason', async ({ finish, reason }) => {
    const input = backEnd.script('Go on', { text: 'And then there', finish });

    const final = await client.responses.stream({ model, input }).finalResponse();

    expect(final).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
    expect(final.output_text).toBe('And then there');
  });

  it('accepts all kinds of settings', async () => {
    const input = backEnd.script('Hello', { text: 'Hello.' });

    const response = await client.responses.create({
      model,
      input: [{ role: 'user', content: input }],
      instructions: 'Be brief.',
      max_output_tokens: 500,
      temperature: 0.5,
      top_p: 0.9,
      metadata: { team: 'a' },
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'cache',
      safety_identifier: 'someone',
      service_tier: 'auto',
      store: false,
      truncation: 'disabled',
    });

    expect(response).toMatchObject({
      output_text: 'Hello.',
      max_output_tokens: 500,
      temperature: 0.5,
      top_p: 0.9,
      metadata: { team: 'a' },
      reasoning: { effort: 'low', summary: 'auto' },
    });
  });
});

function withoutRepeats(types: string[]): string[] {
  return types.filter((type, index) => type !== types[index - 1]);
}
