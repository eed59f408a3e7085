import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Frame } from '../wire.ts';
import type { ProviderEntry } from '../provider.ts';
import { createPackageCaller } from './call-package.ts';
import { createReader } from './chunks.ts';
import type { FakeSettings } from './fake-package.ts';
import { aiSdk } from './index.ts';
import { factoryName, findFactory, findPackage } from './load-package.ts';
import { type ReaderContext, writeRequest } from './request.ts';
import { readSeal, writeSeal } from './seal.ts';

const hello: InputItem = { type: 'message', role: 'user', content: 'hello' };
const write = (request: Partial<ResponseRequest>) =>
  writeRequest(
    { input: [hello], ...request },
    { endpoint: 'acme/one at Acme', upstreamModel: 'one', stream: true, dialect: {} },
    '@ai-sdk/fake',
  );
const readerContext: ReaderContext = { name: '@ai-sdk/fake', upstreamModel: 'one' };
const readParts = (parts: object[], more: Partial<ReaderContext> = {}): Chunk[] => {
  const reader = createReader({ ...readerContext, ...more });
  return parts.flatMap((part) => reader.read({ event: '', data: JSON.stringify(part) }));
};
const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 7, text: 5, reasoning: 2 },
};
const stop = { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'stop' } };

describe('a package', () => {
  it('is found where it is installed, without being run', () => {
    expect(findPackage('@ai-sdk/openai').url).toMatch(/^file:.*@ai-sdk\/openai/);
    expect(() => findPackage('@ai-sdk/amazon-bedrock')).toThrow('npm install @ai-sdk/amazon-bedrock');
  });

  it.each(['', '../evil', '/etc/passwd', 'https://evil.example', 'node:fs ', 'a b', '@ai-sdk/'])('is no %j', (name) => {
    expect(() => findPackage(name)).toThrow('is not the name of a package');
  });

  it('has a function that makes its provider', () => {
    expect(factoryName('@ai-sdk/amazon-bedrock')).toBe('createAmazonBedrock');
    const create = () => undefined;
    expect(findFactory({ createCohere: create, other: 1 }, '@ai-sdk/cohere')).toBe(create);
    expect(findFactory({ createX: create }, '@ai-sdk/y')).toBe(create); // the only one
    expect(findFactory({ createX: create, createY: create }, '@ai-sdk/z', 'createX')).toBe(create);
    expect(() => findFactory({ createX: create }, '@ai-sdk/x', 'createZ')).toThrow('exports createX; name one of them');
    expect(() => findFactory({}, '@ai-sdk/x')).toThrow('no function that begins with create');
  });

  it('is missed when the provider is made, in words for the operator', () => {
    const entry = { package: '@ai-sdk/nowhere' } as ProviderEntry;
    expect(() => aiSdk.forProvider!(entry)).toThrow('npm install @ai-sdk/nowhere');
  });
});

describe('a request', () => {
  it('is a prompt, with tools and settings', () => {
    const { body, dropped } = write({
      instructions: 'Be brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: 'data:image/png;base64,AA' },
          ],
        },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call_output', call_id: 'c', output: 'done' },
      ],
      tools: [
        { type: 'function', name: 'f', parameters: null },
        { type: 'custom', name: 'sql' },
      ],
      tool_choice: { type: 'function', name: 'f' },
      temperature: 0.5,
      reasoning: { effort: 'high', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
      metadata: { a: 'b' },
    });
    expect(body).toMatchObject({
      prompt: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA' } },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: { x: 1 } }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', output: { type: 'text', value: 'done' } }],
        },
      ],
      tools: [
        { type: 'function', name: 'f', inputSchema: { type: 'object' } },
        { type: 'function', name: 'sql' },
      ],
      toolChoice: { type: 'tool', toolName: 'f' },
      temperature: 0.5,
      reasoning: 'high',
      responseFormat: { type: 'json', name: 'n', schema: { type: 'object' } },
    });
    expect(dropped).toEqual(['reasoning.summary', 'metadata']);
  });

  it('has opaque things for the package that made them alone', () => {
    const metadata = { fake: { signature: 'S+/=' } };
    const item = (encrypted_content: string): InputItem => ({
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm.' }],
      encrypted_content,
    });
    const call: InputItem = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const { body, dropped } = write({
      input: [
        hello,
        item(writeSeal('@ai-sdk/fake', { on: 'reasoning', metadata })),
        item(writeSeal('@ai-sdk/other', { on: 'reasoning', metadata })),
        call,
        item(writeSeal('@ai-sdk/fake', { on: 'call', callId: 'c', metadata })),
      ],
    });
    expect((body.prompt as object[])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: metadata },
        { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {}, providerOptions: metadata },
      ],
    });
    expect(dropped).toEqual(['input[2] (reasoning, unsigned)']);
    expect(readSeal('@ai-sdk/fake', 'ai-sdk;@ai-sdk/fake;!!!')).toBeUndefined();
  });

  it('names fields that it cannot carry', () => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '[1]', owner: 'x' } as InputItem;
    const image = { type: 'input_image' as const, image_url: 'https://a.example/b.png', detail: 'high' as const };
    expect(write({ input: [{ type: 'message', role: 'user', content: [image] }, call] }).dropped).toEqual([
      'input[0].content[0].detail',
      'input[1].owner',
      'input[1].arguments (not a JSON object; sent as text)',
    ]);
  });

  it('refuses what has no place', () => {
    for (const request of [
      { prompt: { id: 'p' } },
      { input: [{ type: 'mcp_call' } as InputItem] },
      { tools: [{ type: 'shell' as const }] },
      { tools: [{ type: 'mcp' as const }], tool_choice: 'required' as const },
      ...['ftp://a.example/b.png', '/tmp/b.png'].map((url) => ({
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: url }] } as InputItem],
      })),
    ]) {
      expect(() => write(request)).toThrow(expect.objectContaining({ kind: 'invalid_request', retryable: true }));
    }
  });
});

describe('a response', () => {
  it('is text, thoughts and calls', () => {
    const metadata = { fake: { signature: 'S' } };
    const chunks = readParts(
      [
        { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'topK' }] },
        { type: 'response-metadata', modelId: 'one-2026' },
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
        { type: 'reasoning-end', id: 'r', providerMetadata: metadata },
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'Hi' },
        { type: 'text-end', id: 't' },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example', title: 'A' },
        { type: 'tool-input-start', id: 'c', toolName: 'f' },
        { type: 'tool-input-delta', id: 'c', delta: '{"x":' },
        { type: 'tool-input-delta', id: 'c', delta: '1}' },
        { type: 'tool-input-end', id: 'c' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '{"x":1}', providerMetadata: metadata },
        { type: 'tool-call', toolCallId: 'd', toolName: 'sql', input: '{"input":"select"}' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA' } },
        { type: 'news' },
        { ...stop, finishReason: { unified: 'tool-calls' } },
      ],
      { tools: new Map([['sql', { name: 'sql', kind: 'custom' }]]) },
    );
    expect(chunks).toEqual([
      { type: 'start', model: 'one-2026' },
      { type: 'reasoning_summary', delta: 'Hm.', part: 1 },
      {
        type: 'reasoning_seal',
        format: 'unknown',
        encryptedContent: writeSeal('@ai-sdk/fake', { on: 'reasoning', metadata }),
      },
      { type: 'text', delta: 'Hi' },
      { type: 'tool_call', callId: 'c', name: 'f' },
      { type: 'tool_call_arguments', callId: 'c', delta: '{"x":' },
      { type: 'tool_call_arguments', callId: 'c', delta: '1}' },
      {
        type: 'reasoning_seal',
        format: 'unknown',
        encryptedContent: writeSeal('@ai-sdk/fake', { on: 'call', callId: 'c', metadata }),
      },
      { type: 'tool_call', callId: 'd', name: 'sql', kind: 'custom' },
      { type: 'tool_call_arguments', callId: 'd', delta: 'select' },
      { type: 'item_done', key: 'image-0', item: { type: 'image_generation_call', status: 'completed', result: 'AA' } },
      {
        type: 'finish',
        reason: 'tool_calls',
        usage: {
          inputTokens: 10,
          outputTokens: 7,
          totalTokens: 17,
          cachedTokens: 4,
          cacheWriteTokens: 0,
          reasoningTokens: 2,
        },
        dropped: ['request: topK', 'news', 'source'],
      },
    ]);
  });

  it('takes what is priced apart from the provider’s own report', () => {
    const raw = {
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
      server_tool_use: { web_search_requests: 3 },
      prompt_tokens_details: { audio_tokens: 4 },
      completion_tokens_details: { audio_tokens: 5 },
    };
    const special = { cacheWrite1hTokens: 2, webSearches: 3, inputAudioTokens: 4, outputAudioTokens: 5 };
    expect(readParts([{ ...stop, usage: { ...usage, raw } }]).at(-1)).toMatchObject({ usage: { special } });
    expect(readParts([{ ...stop, usage: { ...usage, raw: 'none' } }]).at(-1)).not.toHaveProperty('usage.special');
  });

  it.each([
    ['stop', 'stop', undefined],
    ['length', 'length', undefined],
    ['content-filter', 'content_filter', undefined],
    ['other', 'stop', ['finishReason (raw)']],
  ])('ends as it ended: %s', (unified, reason, dropped) => {
    expect(readParts([{ ...stop, finishReason: { unified, raw: 'raw' } }]).at(-1)).toMatchObject({
      reason,
      ...(dropped && { dropped }),
    });
  });

  it('fails as it failed', () => {
    expect(() => readParts([{ ...stop, finishReason: { unified: 'error' } }])).toThrow(GatewayError);
    expect(() =>
      readParts([{ type: 'error', error: { name: 'AI_APICallError', statusCode: 529, responseBody: '{}' } }]),
    ).toThrow(expect.objectContaining({ kind: 'upstream_overloaded' }));
  });
});

describe('a request through a package', () => {
  const patient = { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  const found = { name: '@ai-sdk/fake-package', url: new URL('fake-package.ts', import.meta.url).href };

  function ask(
    upstreamModel: string,
    models: FakeSettings['models'],
    signal = new AbortController().signal,
    timeouts = patient,
  ) {
    const asked: FakeSettings['asked'] = [];
    const settings = { models, asked } as unknown as Record<string, unknown>;
    const entry = { name: 'Fake', apiKeys: ['key'], headers: {}, timeouts, settings } as unknown as ProviderEntry;
    const { body } = write({});
    const request = { path: '', body, dropped: [], readerContext: { ...readerContext, upstreamModel } };
    return { asked, frames: createPackageCaller(entry, found)(request, signal) };
  }
  async function readAll(frames: AsyncIterable<Frame[]>): Promise<string[]> {
    const all: string[] = [];
    for await (const batch of frames) all.push(...batch.map(({ data }) => JSON.parse(data).type));
    return all;
  }

  it('gives its parts, and the key to the package alone', async () => {
    const { frames, asked } = ask('good', { good: [{ type: 'text-delta', id: 't', delta: 'a' }, stop] });
    expect(await readAll(frames)).toEqual(['text-delta', 'finish']);
    expect(asked).toMatchObject([{ apiKey: 'key', prompt: [{ role: 'user' }], abortSignal: expect.any(AbortSignal) }]);
  });

  it('keeps the meaning of an HTTP error', async () => {
    const error = Object.assign(new Error('slow down'), {
      name: 'AI_APICallError',
      statusCode: 429,
      responseHeaders: { 'Retry-After': '7' },
      responseBody: '{"error":{"message":"slow down"}}',
    });
    await expect(readAll(ask('bad', { bad: error }).frames)).rejects.toMatchObject({
      kind: 'rate_limited',
      retryable: true,
      retryAfterSeconds: 7,
    });
  });

  it.each([
    ['AI_LoadAPIKeyError', 'upstream_key_rejected'],
    ['AI_UnsupportedFunctionalityError', 'upstream_rejected'],
    ['TypeError', 'upstream_failed'],
  ])('gives %s a meaning', async (name, kind) => {
    const error = Object.assign(new Error('with sk-secret'), { name });
    await expect(readAll(ask('bad', { bad: error }).frames)).rejects.toMatchObject({
      kind,
      message: expect.not.stringContaining('sk-'),
    });
  });

  it('does not wait for ever', async () => {
    const hasty = { ...patient, firstByteMs: 60, idleMs: 60 };
    const { signal } = new AbortController();
    await expect(readAll(ask('mute', { mute: 'silence' }, signal, hasty).frames)).rejects.toMatchObject({
      kind: 'upstream_timeout',
    });
  });

  it('ends when the client leaves', async () => {
    const client = new AbortController();
    const { frames, asked } = ask('mute', { mute: 'silence' }, client.signal);
    const over = readAll(frames);
    const reason = new GatewayError('client_closed', 'The client left.');
    queueMicrotask(() => client.abort(reason));
    await expect(over).rejects.toBe(reason);
    for (const { abortSignal } of asked) expect((abortSignal as AbortSignal).aborted).toBe(true);
  });

  it('refuses a package of another generation', async () => {
    await expect(readAll(ask('old', {}).frames)).rejects.toThrow('another version of the AI SDK');
  });
});
