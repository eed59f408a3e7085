import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  Type,
} from '@google/genai';
import { afterAll, describe, expect, it } from 'vitest';
import { type BackEnd, startBackEnds } from './back-end.ts';
import type { Turn } from './turn.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

/** The official client as its users create it: the address without the version. */
const createClient = ({ gateway }: BackEnd): GoogleGenAI =>
  new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: `${gateway.url}/api` } });

const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
};
const tools = [{ functionDeclarations: [weather] }];
const bern = { name: 'get_weather', input: { city: 'Bern' } };
const olten = { name: 'get_weather', input: { city: 'Olten "am Nebel"' } };
const user = (...parts: Part[]): Content => ({ role: 'user', parts });

/** Joins neighbors with texts of one kind, as clients show them. */
function joinParts(parts: readonly Part[]): Part[] {
  const joined: Part[] = [];
  for (const { thoughtSignature: _, ...part } of parts) {
    const last = joined.at(-1);
    if (part.text === '') continue;
    if (last?.text !== undefined && part.text !== undefined && last.thought === part.thought) last.text += part.text;
    else joined.push(structuredClone(part));
  }
  return joined;
}

const partsOf = (...responses: GenerateContentResponse[]): Part[] =>
  responses.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);

const withoutIds = (parts: readonly Part[]): Part[] =>
  parts.map((part) => (part.functionCall ? { functionCall: { ...part.functionCall, id: 'id' } } : part));

describe.each(backEnds.all)('the client of Google with $kind', (backEnd) => {
  const client = createClient(backEnd);
  const { model, kind } = backEnd;

  async function stream(contents: Content[], config?: GenerateContentConfig): Promise<GenerateContentResponse[]> {
    const all: GenerateContentResponse[] = [];
    for await (const each of await client.models.generateContentStream({ model, contents, ...(config && { config }) }))
      all.push(each);
    return all;
  }

  /** Sends the same request buffered and streamed, and checks that the responses are equal. */
  async function ask(turn: Turn, config?: GenerateContentConfig, parts: Part[] = []) {
    const contents = () => [user(...parts, { text: backEnd.script('Well?', turn) })];
    const buffered = await client.models.generateContent({ model, contents: contents(), ...(config && { config }) });
    const streamed = await stream(contents(), config);
    const last = streamed.at(-1)!;
    expect(withoutIds(joinParts(partsOf(...streamed)))).toEqual(withoutIds(joinParts(partsOf(buffered))));
    expect(last.candidates?.[0]?.finishReason).toBe(buffered.candidates?.[0]?.finishReason);
    expect(last.usageMetadata).toEqual(buffered.usageMetadata);
    // The chats of the client drop a response with an event that has no part.
    for (const each of streamed) expect(partsOf(each).length).toBeGreaterThan(0);
    return buffered;
  }

  it('returns text, usage and the cost, buffered and streamed', async () => {
    const response = await ask(
      { text: 'I am a gateway.', usage },
      { systemInstruction: 'Be brief.', temperature: 0.5, maxOutputTokens: 4096 },
    );
    expect(response.text).toBe('I am a gateway.');
    expect(response.modelVersion).toBe(model);
    expect(response.responseId).toBeTruthy();
    expect(response.candidates?.[0]).toMatchObject({ finishReason: 'STOP', index: 0 });
    expect(response.usageMetadata).toMatchObject({
      promptTokenCount: 1000,
      cachedContentTokenCount: 400,
      totalTokenCount: 1050,
      cost: 0.00114,
    });
    const { candidatesTokenCount, thoughtsTokenCount = 0 } = response.usageMetadata!;
    expect(candidatesTokenCount! + thoughtsTokenCount).toBe(50);
  });

  it('lets the model think and call tools, and gives its reasoning back to it', async () => {
    const encrypted = kind === 'gemini' || kind === 'openai-responses' ? 'EqQBCgIYAhIMc2lnbmVk' : undefined;
    const turn = { reasoning: 'I look it up.', calls: [bern, olten], ...(encrypted && { encrypted }) };
    for (const drops of [false, true]) {
      const question = user({ text: backEnd.script('Weather?', turn, { text: 'Sunny.' }) });
      const config = { tools, thinkingConfig: { thinkingBudget: 2000, includeThoughts: true } };
      const first = partsOf(...(await stream([question], config)));
      const calls = first.flatMap(({ functionCall }) => functionCall ?? []);
      expect(calls.map(({ name, args }) => ({ name, input: args }))).toEqual([bern, olten]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      expect(joinParts(first)[0]).toMatchObject({ thought: true, text: expect.stringMatching(/I look it up\.$/) });
      backEnd.takeUpstreamBodies();
      const second = await client.models.generateContent({
        model,
        config,
        contents: [
          question,
          // Gemini CLI leaves thoughts out of the history.
          { role: 'model', parts: drops ? first.filter(({ thought }) => !thought) : first },
          user(
            { functionResponse: { ...calls[0]!, args: undefined, response: { output: 'sunny' } } as object },
            { functionResponse: { ...calls[1]!, args: undefined, response: { error: 'fog' } } as object },
          ),
        ],
      });
      expect(second.text).toBe('Sunny.');
      const [sent] = backEnd.takeUpstreamBodies();
      if (!sent) continue;
      for (const word of ['sunny', 'fog']) expect(JSON.stringify(sent)).toContain(word);
      if (encrypted) expect(JSON.stringify(sent)).toContain(encrypted);
      if (kind === 'anthropic-messages') {
        const content = [{ type: 'thinking', thinking: 'I look it up.', signature: expect.stringMatching(/./) }];
        expect(sent).toMatchObject({ messages: [{}, { content: [...content, {}, {}] }, {}] });
      }
    }
  });

  it('finds the call of a result without ids', async () => {
    const contents = [
      user({ text: backEnd.script('Weather?', { text: 'Sunny.' }) }),
      { role: 'model', parts: [bern, olten].map(({ name, input }) => ({ functionCall: { name, args: input } })) },
      user(
        { functionResponse: { name: 'get_weather', response: { output: 'first' } } },
        { functionResponse: { name: 'get_weather', response: { output: 'second' } } },
      ),
    ];
    expect((await client.models.generateContent({ model, contents, config: { tools } })).text).toBeTruthy();
    const [sent] = backEnd.takeUpstreamBodies().slice(-1);
    if (kind === 'openai-chat') {
      const { messages } = sent as { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };
      const ids = messages[1]!.tool_calls!.map(({ id }) => id);
      expect(messages.slice(2).map(({ tool_call_id: id }) => id)).toEqual(ids);
    } else if (kind === 'gemini')
      expect((sent as { contents: Content[] }).contents.slice(1)).toEqual(contents.slice(1));
  });

  it('sends a repeated result once', async () => {
    const result = { functionResponse: { id: 'call_1', name: 'get_weather', response: { output: 'foggy' } } };
    const contents = [
      user({ text: backEnd.script('Weather?', { text: 'Fog.' }) }),
      { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'get_weather', args: { city: 'Bern' } } }] },
      user(result, structuredClone(result)),
    ];
    expect((await client.models.generateContent({ model, contents, config: { tools } })).text).toBeTruthy();
    for (const body of backEnd.takeUpstreamBodies().slice(-1))
      expect(JSON.stringify(body).split('foggy')).toHaveLength(2);
  });

  it('keeps a conversation in a chat', async () => {
    const chat = client.chats.create({ model, config: { tools } });
    const message = backEnd.script('Hello', { reasoning: 'Hm.', text: 'Hi there.' }, { text: 'Bye.' });
    for await (const _ of await chat.sendMessageStream({ message })) void _;
    backEnd.takeUpstreamBodies();
    expect((await chat.sendMessage({ message: 'And now?' })).text).toBeTruthy();
    // The client keeps each event of a stream as a content of its own.
    for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain('"Hi there."');
    expect(joinParts(chat.getHistory(true).flatMap(({ parts }) => parts ?? []))).toEqual(
      expect.arrayContaining([expect.objectContaining({ text: expect.stringContaining('Hi there.') })]),
    );
  });

  it('forces a function', async () => {
    const functionCallingConfig = { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['get_weather'] };
    const response = await ask({ calls: [bern] }, { tools, toolConfig: { functionCallingConfig } });
    expect(response.functionCalls).toMatchObject([{ name: 'get_weather', args: { city: 'Bern' } }]);
  });

  it('sends images and files', async () => {
    const notes = Buffer.from('%PDF-1.4').toString('base64');
    const response = await ask({ text: 'A red pixel.' }, {}, [
      { inlineData: { mimeType: 'image/png', data: pixel } },
      { inlineData: { mimeType: 'application/pdf', data: notes } },
    ]);
    expect(response.text).toBe('A red pixel.');
    for (const body of backEnd.takeUpstreamBodies().slice(-2))
      for (const part of [pixel, notes]) expect(JSON.stringify(body)).toContain(part);
  });

  it.each(['responseJsonSchema', 'responseSchema'])('gets JSON in a given shape (%s)', async (field) => {
    const isJson = field === 'responseJsonSchema';
    const schema = {
      type: isJson ? 'object' : Type.OBJECT,
      properties: { city: { type: isJson ? 'string' : Type.STRING } },
      required: ['city'],
    };
    const response = await ask({ text: '{"city":"Bern"}' }, { responseMimeType: 'application/json', [field]: schema });
    expect(response.text).toBe('{"city":"Bern"}');
    for (const body of backEnd.takeUpstreamBodies().slice(-2)) expect(JSON.stringify(body)).toContain('"city"');
  });

  it.each([
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'SAFETY'],
  ] as const)('ends with the reason for %s', async (finish, reason) => {
    expect((await ask({ text: 'And then there', finish })).candidates?.[0]?.finishReason).toBe(reason);
  });

  it.each([true, false])('throws the error of a provider (streamed: %s)', async (isStreamed) => {
    const text = backEnd.script('Hello', { fail: { status: 429, message: 'Too fast.', retryAfterSeconds: 7 } });
    const request = { model, contents: [user({ text })] };
    const sent = isStreamed ? client.models.generateContentStream(request) : client.models.generateContent(request);
    const error = await sent.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).status).toBe(429);
    expect(JSON.parse((error as ApiError).message)).toMatchObject({
      error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '7s' }] },
    });
  });

  it('throws if a stream is cut, and never ends it regularly', async () => {
    const contents = [user({ text: backEnd.script('Hello', { text: 'One two three four.', after: 'failure' }) })];
    const seen: GenerateContentResponse[] = [];
    const read = async () => {
      for await (const each of await client.models.generateContentStream({ model, contents })) seen.push(each);
    };
    await expect(read()).rejects.toThrow('The server had an error.');
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.some(({ candidates }) => candidates?.[0]?.finishReason)).toBe(false);
  });

  it('stops the model if the client cancels', async () => {
    if (kind === 'simulator') return;
    backEnd.takeUpstreamBodies();
    const contents = [user({ text: backEnd.script('Hello', { text: 'One two three four.', after: 'silence' }) })];
    const controller = new AbortController();
    const config = { abortSignal: controller.signal };
    const read = async () => {
      for await (const { text } of await client.models.generateContentStream({ model, contents, config }))
        if (text) controller.abort();
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    expect(await (await backEnd.nextUpstreamRequest()).closed).toBe('aborted');
  });

  it('serves the version of older clients, such as that of Gemini CLI', async () => {
    const httpOptions = { baseUrl: `${backEnd.gateway.url}/api`, apiVersion: 'v1beta' };
    const older = new GoogleGenAI({ apiKey: backEnd.gateway.key, httpOptions });
    const contents = backEnd.script('Hello', { text: 'Hi there.' });
    expect((await older.models.generateContent({ model, contents })).text).toBe('Hi there.');
    expect((await older.models.get({ model })).name).toBe(`models/${model}`);
  });

  it('counts tokens', async () => {
    const { totalTokens } = await client.models.countTokens({
      model,
      contents: [user({ text: 'How many tokens are in this short question?' })],
    });
    if (kind === 'gemini') expect(totalTokens).toBe(64);
    expect(totalTokens).toBeGreaterThan(5);
    expect(totalTokens).toBeLessThan(120);
  });

  it('lists models', async () => {
    const names: string[] = [];
    for await (const { name } of await client.models.list({ config: { pageSize: 1 } })) names.push(name!);
    expect(names).toContain(`models/${model}`);
    expect(await client.models.get({ model })).toMatchObject({ name: `models/${model}` });
  });
});
