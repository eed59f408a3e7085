import { APIError, BadRequestError } from 'openai';
import type { ResponseCreateParamsNonStreaming, ResponseInput } from 'openai/resources/responses/responses';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { htmlPage, json, resetAfter } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { chatResponse } from './chat-responses.ts';
import { openaiClient } from './openai-client.ts';
import { responsesApiResponse } from './responses-api-responses.ts';

const first = await startUpstream();
const second = await startUpstream();
const gateway = await testGateway({
  providers: [
    { id: 'first', wire: 'openai-chat', base_url: first.url, models: [{ model: 'test/a' }, { model: 'test/b' }] },
    { id: 'second', wire: 'openai-responses', base_url: second.url, models: [{ model: 'test/a' }] },
  ],
});
afterAll(() => Promise.all([gateway.close(), first.close(), second.close()]));

const overloaded = json({ error: { message: 'Too busy.', type: 'server_error', code: null } }, { status: 503 });
const hello = { text: 'Hello from the other side.' };
const chat = (request: ScriptedRequest) => chatResponse(hello, request);
const responses = (request: ScriptedRequest) => responsesApiResponse(hello, request);
const client = openaiClient({ gateway });
/** A fixed order, without a random choice. */
const ask = { model: 'test/a', input: 'Hello', provider: { order: ['first'] } };

beforeEach(() => {
  first.always(chat);
  second.always(responses);
});

it('the openai client retrieves the models that it lists', async () => {
  const listed = (await client.models.list()).data.map(({ id }) => id);
  expect(listed).toContain('test/a');
  expect(await client.models.retrieve('test/a')).toMatchObject({
    id: 'test/a',
    object: 'model',
    created: expect.any(Number),
    owned_by: 'test',
  });
  await expect(client.models.retrieve('test/nobody')).rejects.toMatchObject({ status: 404 });
});

describe('the openai client before two providers', () => {
  it.each([
    ['is overloaded', () => first.always(overloaded)],
    ['shows a page', () => first.always(htmlPage())],
    ['breaks off before it has said a thing', () => first.always((request) => resetAfter(10, chat(request)))],
  ])('gets the response of the second, streamed and buffered, if the first %s', async (_, arrange) => {
    arrange();

    const buffered = await client.responses.create(ask);
    const streamed = await client.responses.stream(ask).finalResponse();

    expect(buffered.output_text).toBe('Hello from the other side.');
    expect(streamed.output_text).toBe('Hello from the other side.');
  });

  it('sends items back that lost their nulls', async () => {
    first.always(overloaded);
    const call = { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{}', namespace: null };
    const items = [call, { type: 'function_call_output', call_id: 'call_1', output: '12:00' }];

    await client.responses.create({ ...ask, input: items as ResponseInput }); // the types do not know the null

    const { namespace: _, ...kept } = call;
    expect(second.requests.at(-1)?.body).toMatchObject({ input: [kept, items[1]] });
    expect(JSON.stringify(second.requests.at(-1)?.body)).not.toContain('namespace');
  });

  it('gets the provider in the metadata if it requests them', async () => {
    first.always(overloaded);
    const headers = { 'x-router-metadata': 'enabled' };

    const buffered = await client.responses.create(ask, { headers });
    const streamed = await client.responses.stream(ask, { headers }).finalResponse();
    const unasked = await client.responses.create(ask);

    for (const response of [buffered, streamed]) {
      expect(response).toMatchObject({
        router_metadata: {
          requested: 'test/a',
          attempt: 2,
          attempts: [
            { provider: 'first', model: 'test/a', status: 529 },
            { provider: 'second', model: 'test/a', status: 200 },
          ],
        },
      });
    }
    expect(unasked).not.toHaveProperty('router_metadata');
  });

  it('gets the error of each provider if all fail', async () => {
    fail(first, 503);
    fail(second, 429);

    const error = await client.responses.create(ask).catch((thrown: unknown) => thrown);

    if (!(error instanceof APIError)) throw new Error(`It did not fail: ${error}`);
    expect(error.error).toMatchObject({ metadata: { previous_errors: [{ provider: 'first', status: 529 }] } });
  });

  it('gets the advice to send the item itself if the provider looks for it in a store', async () => {
    const message = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.";
    const error = { message, type: 'invalid_request_error', param: 'input', code: null };
    second.always(json({ error }, { status: 404 }));
    const input: ResponseInput = [
      { type: 'item_reference', id: 'rs_1' },
      { role: 'user', content: 'Go on' },
    ];

    const failure = await client.responses
      .create({ ...ask, input, provider: { only: ['second'] } } as ResponseCreateParamsNonStreaming)
      .catch((thrown: unknown) => thrown);

    expect(failure).toBeInstanceOf(BadRequestError);
    expect(String(failure)).toContain('send the item itself');
  });

  it('falls back to the other models, which are not in its types', async () => {
    fail(first, 500);
    const params: ResponseCreateParamsNonStreaming & { models: string[] } = {
      model: 'test/b',
      models: ['test/a'],
      input: 'Hello',
    };

    const response = await client.responses.create(params);

    expect(response.model).toBe('test/a');
  });
});

function fail(upstream: ScriptedUpstream, status: number): void {
  upstream.always(json({ error: { message: 'No.', type: 'server_error', code: null } }, { status }));
}
