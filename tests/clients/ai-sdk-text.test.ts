import {
  APICallError,
  generateObject,
  generateText,
  type ModelMessage,
  NoObjectGeneratedError,
  Output,
  streamText,
} from 'ai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { aiModel, nothingIsStored } from './ai-sdk-model.ts';
import { startBackEnds } from './back-end.ts';
import { collect } from './collect.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };
const schema = z.object({ title: z.string(), people: z.array(z.string()) });
const value = { title: 'Jour fixe', people: ['Ada', 'Zoë'] };

describe.each(backEnds.all)('text in the AI SDK with $kind', (backEnd) => {
  const model = aiModel(backEnd);
  const { kind } = backEnd;

  it('generates text and returns the usage', async () => {
    const prompt = backEnd.script('Who are you?', { text: 'I am a gateway.', usage });

    const result = await generateText({ model, system: 'Be brief.', prompt, maxOutputTokens: 100, maxRetries: 0 });

    expect(result.text).toBe('I am a gateway.');
    expect(result.finishReason).toBe('stop');
    expect(result.usage).toMatchObject({
      inputTokens: 1000,
      inputTokenDetails: { cacheReadTokens: 400 },
      outputTokens: 50,
      outputTokenDetails: { reasoningTokens: backEnd.can.countReasoning ? 20 : 0 },
      totalTokens: 1050,
    });
    expect(result.usage.raw).toMatchObject({ cost: 0.00114 });
    expect(result.response).toMatchObject({ id: expect.stringMatching(/^resp_/), modelId: backEnd.model });
    expect(result.response.headers).toMatchObject({ 'x-generation-id': expect.stringMatching(/^gen-/) });
  });

  it('streams text in pieces', async () => {
    const prompt = backEnd.script('Count', { text: 'One two three four.', usage });

    const result = streamText({ model, prompt, maxRetries: 0 });
    const pieces = await collect(result.textStream);

    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('One two three four.');
    expect(await result.finishReason).toBe('stop');
    expect(await result.usage).toMatchObject({ totalTokens: 1050 });
  });

  it.each([
    { finish: 'length', reason: 'length' },
    { finish: 'content_filter', reason: 'content-filter' },
  ] as const)('tells the finish reason $reason', async ({ finish, reason }) => {
    const turn = { text: 'And then', finish };

    const generated = await generateText({ model, prompt: backEnd.script('Go on', turn), maxRetries: 0 });
    const streamed = streamText({ model, prompt: backEnd.script('Go on', turn), maxRetries: 0 });
    await streamed.consumeStream();

    expect(generated.finishReason).toBe(reason);
    expect(await streamed.finishReason).toBe(reason);
  });

  it('returns a summary of the reasoning in separate parts', async () => {
    const turn = { reasoning: 'Seven times six.', text: 'It is 42.' };
    const providerOptions = { openai: { ...nothingIsStored.openai, forceReasoning: true, reasoningSummary: 'auto' } };
    const ask = () => ({ model, prompt: backEnd.script('7 x 6?', turn), providerOptions, maxRetries: 0 });

    const generated = await generateText(ask());
    const streamed = streamText(ask());
    const types = new Set<string>();
    for await (const { type } of streamed.fullStream) types.add(type);

    expect(generated.text).toBe('It is 42.');
    expect([...types]).toEqual(expect.arrayContaining(['reasoning-start', 'reasoning-end', 'text-delta']));
    expect(generated.reasoning).toHaveLength(1);
    // A chat completions provider returns raw reasoning only. This client cannot represent it: its part is empty.
    if (kind !== 'openai-chat' && kind !== 'simulator') expect(generated.reasoningText).toBe('Seven times six.');
    if (kind === 'simulator') expect(generated.reasoningText).toMatch(/^Thought about /);
    expect(await streamed.reasoningText).toBe(generated.reasoningText);
  });

  it('generates an object for a zod schema', async () => {
    const prompt = backEnd.script('Which meeting?', { text: JSON.stringify(value) });

    const result = await generateObject({ model, schema, prompt, maxRetries: 0 });

    expect(result.object).toEqual(value);
  });

  it('streams an object that grows', async () => {
    const prompt = backEnd.script('Which meeting?', { text: JSON.stringify(value, undefined, 1) });

    const result = streamText({ model, output: Output.object({ schema }), prompt, maxRetries: 0 });
    const partial = await collect(result.partialOutputStream);

    expect(partial.length).toBeGreaterThan(1);
    expect(partial.at(-1)).toEqual(value);
    expect(await result.output).toEqual(value);
  });

  it('reports that there is no object if the response is none', async () => {
    const prompt = backEnd.script('Which meeting?', { text: 'None, sorry.' });

    const result = generateObject({ model, schema, prompt, maxRetries: 0 });

    await expect(result).rejects.toSatisfy(NoObjectGeneratedError.isInstance);
  });

  it('sends images and files to the provider', async () => {
    const text = backEnd.script('What is this?', { text: 'A cat.' });
    const data = Buffer.from('not really a picture');
    backEnd.takeUpstreamBodies();

    const result = await generateText({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'file', data, mediaType: 'image/png' },
            { type: 'file', data, mediaType: 'application/pdf', filename: 'note.pdf' },
          ],
        },
      ],
      maxRetries: 0,
    });

    expect(result.text).toBe('A cat.');
    const [body] = backEnd.takeUpstreamBodies();
    const sent = JSON.stringify(body ?? 'the simulator keeps no bodies');
    if (body) {
      expect(sent.split(data.toString('base64'))).toHaveLength(3); // the image and the file
      for (const type of ['image/png', 'application/pdf']) expect(sent).toContain(type);
      if (kind !== 'gemini') expect(sent).toContain('note.pdf'); // that protocol has no field for the name
    }
  });

  it('continues a conversation if store is off', async () => {
    const messages: ModelMessage[] = [
      { role: 'user', content: backEnd.script('Hello', { text: 'Hello, who is it?' }) },
    ];
    const first = await generateText({ model, messages, providerOptions: nothingIsStored, maxRetries: 0 });

    messages.push(...first.response.messages, { role: 'user', content: backEnd.script('Me', { text: 'Come in.' }) });
    backEnd.takeUpstreamBodies();
    const second = await generateText({ model, messages, providerOptions: nothingIsStored, maxRetries: 0 });

    expect(second.text).toBe('Come in.');
    const [body] = backEnd.takeUpstreamBodies();
    if (body) expect(JSON.stringify(body)).toContain('Hello, who is it?');
  });

  it.runIf(kind !== 'openai-responses')('gets an error if it refers to an item that was never stored', async () => {
    const messages: ModelMessage[] = [
      { role: 'user', content: backEnd.script('Hello', { text: 'Hello, who is it?' }) },
    ];
    const first = await generateText({ model, messages, maxRetries: 0 });
    messages.push(...first.response.messages, { role: 'user', content: 'Me' });

    const error = await generateText({ model, messages, maxRetries: 0 }).catch((thrown: unknown) => thrown);

    expect(error).toSatisfy(APICallError.isInstance);
    expect(error).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      message: expect.stringMatching(/^input\[1\]: /),
    });
  });
});
