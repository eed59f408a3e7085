import OpenAI from 'openai';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { holdTimers } from '../interns/hold-timers.ts';
import { type BackEnd, startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';
import { patient } from '../../src/testing/patience.ts';

const backEnds = await startBackEnds();
// Long enough for the first words on a busy machine: the stream must be interrupted after them.
const hasty = await startBackEnds({ timeouts: { request_ms: patient(2000) } });
const chatty = await startBackEnds({ server: { keep_alive_comment_ms: 10 } });
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  await backEnds.close();
  await hasty.close();
  await chatty.close();
});

const held = { text: 'One two three four five.', after: 'silence' } as const;

describe.each(backEnds.all)('an abort in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model } = backEnd;
  const isHttp = backEnd.kind !== 'simulator';

  it('aborts the request to the provider if a stream is aborted midway', async () => {
    backEnd.takeUpstreamBodies();
    const input = backEnd.script('Count', held);
    const { data: stream, response } = await client.responses.create({ model, input, stream: true }).withResponse();

    for await (const event of stream) if (event.type === 'response.output_text.delta') stream.controller.abort();

    if (isHttp) expect(await (await backEnd.nextUpstreamRequest()).closed).toBe('aborted');
    await expectCancelled(backEnd, response.headers.get('x-generation-id'));
  });

  it('aborts the request to the provider if the stream helper is aborted midway', async () => {
    backEnd.takeUpstreamBodies();
    const stream = client.responses.stream({ model, input: backEnd.script('Count', held) });
    stream.on('response.output_text.delta', () => stream.abort());

    await expect(stream.finalResponse()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);

    if (isHttp) expect(await (await backEnd.nextUpstreamRequest()).closed).toBe('aborted');
  });

  it('aborts the request to the provider after a break in the loop over the events', async () => {
    backEnd.takeUpstreamBodies();
    const stream = await client.responses.create({ model, input: backEnd.script('Count', held), stream: true });

    for await (const event of stream) if (event.type === 'response.output_text.delta') break;

    if (isHttp) expect(await (await backEnd.nextUpstreamRequest()).closed).toBe('aborted');
  });

  it.runIf(isHttp)('aborts the request to the provider if a buffered request is aborted', async () => {
    backEnd.takeUpstreamBodies();
    const controller = new AbortController();
    const input = backEnd.script('Count', held);
    const answer = expect(
      client.responses.create({ model, input }, { signal: controller.signal }),
    ).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    const request = await backEnd.nextUpstreamRequest();

    controller.abort();

    await answer;
    expect(await request.closed).toBe('aborted');
  });

  it('aborts the request to the provider at the timeout of the client', async () => {
    backEnd.takeUpstreamBodies();
    const input = backEnd.script('Count', held);
    const timeout = 123_456;
    const timers = holdTimers(timeout);
    const answer = expect(client.responses.create({ model, input }, { timeout })).rejects.toBeInstanceOf(
      OpenAI.APIConnectionTimeoutError,
    );
    await expect.poll(() => timers.list().length).toBe(1);
    const request = isHttp ? await backEnd.nextUpstreamRequest() : undefined;

    timers.end(timeout);

    await answer;
    if (request) expect(await request.closed).toBe('aborted');
  });
});

/** With all back ends at the same time: each waits for the deadline. */
describe('the deadline of the gateway in the openai client', () => {
  const onAll = (act: (backEnd: BackEnd) => Promise<void>) =>
    Promise.all(
      hasty.all.map((backEnd) =>
        act(backEnd).catch((cause: Error) => {
          throw new Error(`${backEnd.kind}: ${cause.message}`, { cause });
        }),
      ),
    );

  it('returns 408 before any output', () =>
    onAll(async (backEnd) => {
      const input = backEnd.script('Count', held);
      const answer = openaiClient(backEnd).responses.create({ model: backEnd.model, input });

      await expect(answer).rejects.toMatchObject({ status: 408, error: { metadata: { error_type: 'timeout' } } });
    }));

  it('ends a stream with an error', () =>
    onAll(async (backEnd) => {
      const input = backEnd.script('Count', held);
      const stream = openaiClient(backEnd).responses.stream({ model: backEnd.model, input });
      let text = '';
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta;
      });

      await expect(stream.finalResponse()).rejects.toMatchObject({ code: 'timeout' });
      expect(text).toMatch(/^One two/);
    }));
});

describe.each(chatty.all)('comments that keep a stream open, in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model } = backEnd;

  it('are skipped before the first event and between events', async () => {
    const turn = { waitMs: 50, slowMs: 40, text: 'One two.' };

    const final = await client.responses.stream({ model, input: backEnd.script('Count', turn) }).finalResponse();
    const raw = await backEnd.gateway.stream({ model, input: backEnd.script('Count', turn) });

    expect(final.output_text).toBe('One two.');
    expect(raw.text).toMatch(/^: ROUTER PROCESSING\n\n/);
    expect(raw.text.slice(raw.text.indexOf('response.created'))).toContain(': ROUTER PROCESSING');
  });

  it('are followed by an error if the provider fails', async () => {
    const input = backEnd.script('Count', { waitMs: 50, fail: { status: 500, message: 'Too bad.' } });
    const types: string[] = [];

    const stream = client.responses.stream({ model, input }).on('event', ({ type }) => types.push(type));

    await expect(stream.finalResponse()).rejects.toMatchObject({ code: 'provider_unavailable' });
    const before = types.filter((type) => type !== 'error'); // version 6 of the client reports the error as an event
    expect(before).toEqual(['response.created', 'response.in_progress']);
  });
});

/** Waits until the gateway has recorded the disconnected request as canceled. */
async function expectCancelled({ gateway }: BackEnd, generationId: string | null): Promise<void> {
  await expect
    .poll(async () => (await gateway.get(`/generation?id=${generationId}`)).json())
    .toMatchObject({ data: { cancelled: true } });
}
