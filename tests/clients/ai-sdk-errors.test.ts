import { APICallError, generateText, streamText } from 'ai';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { aiModel } from './ai-sdk-model.ts';
import { startBackEnds } from './back-end.ts';
import { collect } from './collect.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const held = { text: 'One two three four five.', after: 'silence' } as const;

describe.each(backEnds.all)('errors in the AI SDK with $kind', (backEnd) => {
  const model = aiModel(backEnd);
  const isHttp = backEnd.kind !== 'simulator';

  it('throws APICallError for a wrong key', async () => {
    const answer = generateText({ model: aiModel(backEnd, 'nobody-knows-this-key'), prompt: 'Hello', maxRetries: 0 });

    const error = await callErrorOf(answer);

    expect(error).toMatchObject({ statusCode: 401, isRetryable: false, message: 'Invalid or missing API key.' });
    expect(error.data).toMatchObject({ error: { code: 401 } });
  });

  it.each([
    { status: 400, shown: 400, isRetryable: false },
    { status: 429, shown: 429, isRetryable: true },
    { status: 500, shown: 502, isRetryable: true },
    { status: 503, shown: 529, isRetryable: true },
  ])('throws APICallError $shown if the provider returns $status', async ({ status, shown, isRetryable }) => {
    const fail = { status, message: 'Something is wrong here.' };

    const generated = await callErrorOf(
      generateText({ model, prompt: backEnd.script('Hello', { fail }), maxRetries: 0 }),
    );
    const onError = vi.fn();
    await streamText({ model, prompt: backEnd.script('Hello', { fail }), maxRetries: 0, onError }).consumeStream();

    for (const error of [generated, onError.mock.calls[0]?.[0].error]) {
      expect(error).toSatisfy(APICallError.isInstance);
      expect(error).toMatchObject({ statusCode: shown, isRetryable });
      expect(error.message).toContain('Something is wrong here.');
    }
  });

  it('does not retry an error that no retry can fix', async () => {
    const fail = { status: 400, message: 'No.' };

    const answer = generateText({ model, prompt: backEnd.script('Hello', { fail }), maxRetries: 2 });

    expect(await callErrorOf(answer)).toMatchObject({ statusCode: 400 }); // otherwise it would be a RetryError
  });

  it('adds an error part to a stream that fails midway', async () => {
    const prompt = backEnd.script('Hello', { text: 'One two three four.', after: 'failure' });

    const result = streamText({ model, prompt, maxRetries: 0, onError: () => {} });
    const parts = await collect(result.fullStream);

    const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
    expect(text).toMatch(/^One two/);
    const errors = parts.filter((part) => part.type === 'error');
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors)).toContain('The server had an error.');
  });

  it('aborts the request to the provider if a stream is aborted', async () => {
    backEnd.takeUpstreamBodies();
    const controller = new AbortController();

    const result = streamText({
      model,
      prompt: backEnd.script('Count', held),
      abortSignal: controller.signal,
      maxRetries: 0,
    });
    const types: string[] = [];
    for await (const { type } of result.fullStream) {
      types.push(type);
      if (type === 'text-delta') controller.abort();
    }

    expect(types.at(-1)).toBe('abort');
    if (isHttp) expect(await (await backEnd.nextUpstreamRequest()).closed).toBe('aborted');
  });

  it.runIf(isHttp)('aborts the request to the provider if a buffered request is aborted', async () => {
    backEnd.takeUpstreamBodies();
    const controller = new AbortController();
    const prompt = backEnd.script('Count', held);
    const answer = expect(
      generateText({ model, prompt, abortSignal: controller.signal, maxRetries: 0 }),
    ).rejects.toMatchObject({ name: 'AbortError' });
    const request = await backEnd.nextUpstreamRequest();

    controller.abort();

    await answer;
    expect(await request.closed).toBe('aborted');
  });
});

async function callErrorOf(answer: Promise<unknown>): Promise<APICallError> {
  const error = await answer.catch((thrown: unknown) => thrown);
  if (APICallError.isInstance(error)) return error;
  throw new Error(`It did not fail as a call: ${error}`);
}
