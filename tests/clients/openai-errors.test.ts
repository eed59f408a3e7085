import OpenAI, { APIError } from 'openai';
import type { ResponseInput, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

describe.each(backEnds.all)('errors in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model, gateway } = backEnd;
  const isHttp = backEnd.kind !== 'simulator';

  it('throws AuthenticationError for a wrong key', async () => {
    const stranger = openaiClient(backEnd, { apiKey: 'nobody-knows-this-key' });

    const error = await failureOf(stranger.responses.create({ model, input: 'Hello' }));

    expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 401, error: { metadata: { error_type: 'authentication' } } });
    expect(error.requestID).toMatch(/^req_/);
  });

  it('throws PermissionDeniedError for a management key', async () => {
    const admin = openaiClient(backEnd, { apiKey: gateway.managementKey });

    const error = await failureOf(admin.responses.create({ model, input: 'Hello' }));

    expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(error.error).toMatchObject({ code: 403, metadata: { error_type: 'permission_denied' } });
  });

  it('throws a BadRequestError that names each invalid field', async () => {
    const input = [{ role: 'user' as const, content: [{ type: 'input_image' as const, detail: 'auto' as const }] }];

    const error = await failureOf(client.responses.create({ model, input, temperature: 'hot' as unknown as number }));

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    const { metadata } = error.error as { metadata: { error_type: string; issues: { path: string }[] } };
    expect(metadata.error_type).toBe('invalid_request');
    expect(metadata.issues.map(({ path }) => path).sort()).toEqual(['input[0].content[0]', 'temperature']);
  });

  it('throws BadRequestError for a model without a provider', async () => {
    const error = await failureOf(client.responses.create({ model: 'nobody/nothing', input: 'Hello' }));

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error.error).toMatchObject({ code: 400, availability: { code: 'model_not_found', retryable: false } });
    expect(error.message).toContain('nobody/nothing');
  });

  it.each([
    { previous_response_id: 'resp_earlier' },
    { store: true },
  ])('rejects %j, because nothing is stored', async (field) => {
    const error = await failureOf(client.responses.create({ model, input: 'Hello', ...field }));

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  });

  it('throws UnprocessableEntityError for the output of an unknown call', async () => {
    const input = [{ type: 'function_call_output' as const, call_id: 'call_x', output: 'sunny' }];

    const error = await failureOf(client.responses.create({ model, input }));

    expect(error).toBeInstanceOf(OpenAI.UnprocessableEntityError);
    expect(error.message).toContain('call_x');
  });

  it.each([
    { status: 400, shown: 400, type: OpenAI.BadRequestError, errorType: 'invalid_request' },
    { status: 401, shown: 502, type: OpenAI.InternalServerError, errorType: 'provider_unavailable' },
    { status: 422, shown: 422, type: OpenAI.UnprocessableEntityError, errorType: 'unprocessable' },
    { status: 429, shown: 429, type: OpenAI.RateLimitError, errorType: 'rate_limit_exceeded' },
    { status: 500, shown: 502, type: OpenAI.InternalServerError, errorType: 'provider_unavailable' },
    { status: 503, shown: 529, type: OpenAI.InternalServerError, errorType: 'provider_overloaded' },
    { status: 504, shown: 524, type: OpenAI.InternalServerError, errorType: 'timeout' },
  ])('returns $shown, streamed and buffered, if the provider returns $status', async ({
    status,
    shown,
    type,
    errorType,
  }) => {
    const fail = { status, message: 'Something is wrong here.' };

    const buffered = await failureOf(client.responses.create({ model, input: backEnd.script('Hello', { fail }) }));
    const streamed = await failureOf(
      client.responses.create({ model, input: backEnd.script('Hello', { fail }), stream: true }),
    );
    const helped = await failureOf(
      client.responses.stream({ model, input: backEnd.script('Hello', { fail }) }).finalResponse(),
    );

    for (const error of [buffered, streamed, helped]) {
      expect(error).toBeInstanceOf(type);
      expect(error).toMatchObject({ status: shown, error: { code: shown, metadata: { error_type: errorType } } });
      expect(error.message).toContain('Something is wrong here.');
    }
  });

  it('returns the time to wait', async () => {
    const fail = { status: 429, message: 'Slow down.', retryAfterSeconds: 7 };

    const error = await failureOf(client.responses.create({ model, input: backEnd.script('Hello', { fail }) }));

    expect(error.headers?.get('retry-after')).toBe('7');
  });

  it('ends the stream with response.failed if the provider fails midway', async () => {
    const input = backEnd.script('Hello', { text: 'One two three four.', after: 'failure' });

    const stream = await client.responses.create({ model, input, stream: true });
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);

    expect(events.at(-2)).toMatchObject({ type: 'error', code: 'provider_unavailable', param: null });
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' }, error_type: 'provider_unavailable' },
    });
  });

  it('makes the stream helper throw if the provider fails midway, without a status that was never sent', async () => {
    const input = backEnd.script('Hello', { text: 'One two three four.', after: 'failure' });

    const stream = client.responses.stream({ model, input });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    // Version 6 of the client throws the event, and later ones throw an `APIError` with its fields.
    const error = (await stream.finalResponse().catch((thrown: unknown) => thrown)) as APIError;

    expect(text).toMatch(/^One two/);
    expect(error).toMatchObject({ code: 'provider_unavailable', param: null });
    expect(error.status).toBeUndefined();
    expect(error.message).toMatch(/^The (provider|simulator) /);
    if (backEnd.kind !== 'gemini') expect(error.message).not.toContain('status'); // its errors contain a status
  });

  it.runIf(isHttp)('lets the client retry', async () => {
    const fail = { status: 500, message: 'Once.' };
    const input = backEnd.script('Hello', { fail }, { text: 'Hello again.' });

    const response = await openaiClient(backEnd, { maxRetries: 1 }).responses.create({ model, input });

    expect(response.output_text).toBe('Hello again.');
  });
});

describe('a feature of the openai client that this gateway does not have', () => {
  const [backEnd] = backEnds.all;
  const client = openaiClient(backEnd!);
  const { model } = backEnd!;
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const stored = 'Responses are not stored';

  it.each([
    ['responses.retrieve', () => client.responses.retrieve('resp_1'), stored],
    [
      'a stream of an earlier response',
      () => client.responses.stream({ response_id: 'resp_1' }).finalResponse(),
      stored,
    ],
    ['responses.cancel', () => client.responses.cancel('resp_1'), stored],
    ['responses.delete', () => client.responses.delete('resp_1'), stored],
    ['responses.inputItems', () => client.responses.inputItems.list('resp_1'), stored],
    ['conversations', () => client.conversations.create({}), stored],
    [
      'uploads',
      () => client.uploads.create({ bytes: 1, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' }),
      'POST /api/v1/files',
    ],
    ['vectorStores', () => client.vectorStores.list(), 'POST /api/v1/files'],
    ['batches', () => client.batches.list(), 'Send each request by itself'],
    ['audio.speech', () => client.audio.speech.create({ model, voice: 'alloy', input: 'Hello' }), 'part of a message'],
    ['moderations', () => client.moderations.create({ input: 'Hello' }), 'plugin `moderation`'],
  ])('is a NotFoundError with the remedy: %s', async (_, call, advice) => {
    const error = await failureOf(call());

    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error.message).toContain(advice);
  });

  it.each([
    '',
    '/v1',
    '/api',
    '/api/v1/v1',
    '/api/v1/responses',
    '/v1/chat/completions',
  ])('is not the base URL that ends in "%s"', async (end) => {
    const lost = openaiClient(backEnd!, { baseURL: backEnd!.gateway.url + end });

    expect((await lost.models.list()).data.map(({ id }) => id)).toContain(model);
  });

  it('names the correct base URL for other routes', async () => {
    const lost = openaiClient(backEnd!, { baseURL: `${backEnd!.gateway.url}/v1` });

    const error = await failureOf(lost.files.list());

    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error.message).toContain('ends in /api/v1, to which clients add /files');
  });

  it('has no advice for an unknown path', async () => {
    const error = await failureOf(client.get('/nothing'));

    expect(error.message).toBe('404 There is no GET /api/v1/nothing here.');
  });

  it.each([
    ['n', { n: 2 }, 'must be 1: send one request for each choice, got 2'],
    ['store', { store: true }, 'stores no completion, got true'],
    ['audio', { audio: { voice: 'alloy', format: 'mp3' } }, 'generates no audio'],
  ])('is a BadRequestError of chat completions with the remedy: %s', async (path, fields, advice) => {
    const params = { model, messages, ...fields } as Parameters<typeof client.chat.completions.create>[0];

    const error = await failureOf(client.chat.completions.create(params));

    expect(error).toMatchObject({ status: 400, param: path });
    expect(error.message).toContain(advice);
  });

  it.each([
    ['best_of', { best_of: 2 }, 'only one completion is generated'],
    ['echo', { echo: true }, 'do not repeat the prompt'],
    ['suffix', { suffix: 'x' }, 'do not insert text'],
    ['prompt', { prompt: ['a', 'b'] }, 'one request for each prompt'],
    ['prompt', { prompt: [1, 2] }, 'texts in place of token ids'],
  ])('is a BadRequestError of the older completions with the remedy: %s', async (path, fields, advice) => {
    const error = await failureOf(client.completions.create({ model, prompt: 'Hello', ...fields }));

    expect(error).toMatchObject({ status: 400, param: path });
    expect(error.message).toContain(advice);
  });

  it.each([
    ['text.format.name', { text: { format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } } }],
    ['input', { input: undefined, messages }],
  ])('names the format of chat completions as the problem of %s', async (path, fields) => {
    const params = { model, input: 'Hello', ...fields } as Parameters<typeof client.responses.create>[0];

    const error = await failureOf(client.responses.create(params));

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error.message).toContain(`${path}: `);
    expect(error.message).toContain('chat completions');
  });

  it.each([
    [{ role: 'tool', tool_call_id: 'call_1', content: 'sunny' }, '"function_call_output"'],
  ])('names the equivalent of %j of chat completions', async (message, name) => {
    const input = [message] as unknown as ResponseInput;

    const error = await failureOf(client.responses.create({ model, input }));

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error.message).toContain(name);
  });
});

async function failureOf(answer: PromiseLike<unknown>): Promise<APIError> {
  try {
    await answer;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error('It was answered.');
}
