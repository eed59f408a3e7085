import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { plainAnswers } from '../rules/plain-answers.ts';

let weak: ScriptedUpstream;
let strong: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  weak = await startUpstream();
  strong = await startUpstream();
  const provider = (id: string, base_url: string, more: object = {}) => ({
    id,
    wire: 'openai-chat',
    base_url,
    models: [{ model: `${id}/m` }, { model: 'shared/m' }],
    ...more,
  });
  gateway = await testGateway({
    catalog: { builtin: false },
    retry: { attempts: 2 },
    providers: [
      provider('weak', weak.url, { dialect: { format: { json_schema: 'describe', json_object: 'describe' } } }),
      provider('strong', strong.url),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await weak.close();
  await strong.close();
});

const usage = { prompt_tokens: 9, completion_tokens: 5 };
const says = (text: string) => (request: ScriptedRequest) =>
  (request.body as { stream?: boolean }).stream
    ? sse([{ choices: [{ index: 0, finish_reason: 'stop', delta: { content: text } }], usage }], { done: true })
    : json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }], usage });

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
};
const good = '{"city":"Bern","people":134000}';
const bad = '{"city":"Bern","people":"many"}';
const order = { provider: { order: ['weak', 'strong'] } };

const apis = [
  {
    path: '/responses',
    body: { input: 'Hi', text: { format: { type: 'json_schema', name: 'city', schema } } },
    read: (text: string) => JSON.parse(text).output[0].content[0].text as string,
    field: 'text.format',
  },
  {
    path: '/chat/completions',
    body: {
      messages: [{ role: 'user', content: 'Hi' }],
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
    },
    read: (text: string) => JSON.parse(text).choices[0].message.content as string,
    field: 'response_format',
  },
  {
    path: '/messages',
    body: {
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 99,
      output_config: { format: { type: 'json_schema', schema } },
    },
    read: (text: string) => JSON.parse(text).content[0].text as string,
    field: 'output_config.format',
  },
];

describe.each(apis)('a schema that only the prompt names, on $path', ({ path, body, read, field }) => {
  const ask = (more: object) => gateway.post(path, { ...body, ...more });

  it('is repaired where the model adds a fence', async () => {
    weak.always(says(`Here you are:\n\`\`\`json\n${good}\n\`\`\``));
    const response = await ask({ model: 'weak/m' });
    expect(response.status).toBe(200);
    expect(read(await response.text())).toBe(good);
    expect(response.headers.get('x-router-dropped-fields')).toBe(field);
  });

  it('leads to the next endpoint if the response does not match', async () => {
    weak.always(says(bad));
    strong.always(says(good));
    const response = await ask({ model: 'shared/m', ...order });
    expect(read(await response.text())).toBe(good);
    expect(strong.requests.at(-1)!.body).toMatchObject({ response_format: { type: 'json_schema' } });
  });

  it('returns and names a response that does not match if there is no other endpoint', async () => {
    weak.always(says(bad));
    const asked = weak.requests.length;
    const response = await ask({ model: 'weak/m' });
    expect(response.status).toBe(200);
    expect(read(await response.text())).toBe(bad);
    expect(response.headers.get('x-router-dropped-fields')).toContain(field);
    expect(weak.requests).toHaveLength(asked + 1);
  });

  it('is streamed as the model writes it', async () => {
    weak.always(says(bad));
    const response = await ask({ model: 'weak/m', stream: true });
    expect(response.headers.get('x-router-dropped-fields')).toContain(field);
    expect(await response.text()).toContain('many');
  });
});

const format = (value: object) => ({ text: { format: { type: 'json_schema', name: 'x', schema: value } } });
/** Returns `dropped_fields` of the metadata. */
const outcome = async (body: object): Promise<string> => {
  const headers = { 'x-router-metadata': 'enabled' };
  const response = await gateway.post('/responses', { model: 'weak/m', input: 'Hi', ...body }, { headers });
  expect(response.status).toBe(200);
  const { router_metadata: metadata } = (await response.json()) as {
    router_metadata: { params: { dropped_fields: string[] } };
  };
  return metadata.params.dropped_fields.join();
};

it.each([
  ['an object', '{"a":1}', false],
  ['a list', '[1]', true],
  ['a sentence', 'I cannot.', true],
])('JSON mode: %s', async (_, text, isNamed) => {
  weak.always(says(text));
  const dropped = await outcome({ text: { format: { type: 'json_object' } } });
  expect(dropped.includes('does not match')).toBe(isNamed);
});

const { rawJSON } = JSON as unknown as { rawJSON(text: string): number };
const manyDigits = { type: 'object', properties: { a: { type: 'number', maximum: rawJSON('12345678901234567890') } } };

it.each([
  ['a reference', { $ref: '#/$defs/a', $defs: { a: { type: 'object', required: ['b'] } } }, '{"c":1}', true],
  ['an unknown reference', { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } }, '{"a":1}', false],
  ['a number of many digits', manyDigits, '{"a":5}', false],
  ['a number of many digits and another text', manyDigits, '{"a":"5"}', true],
  ['a number', { type: 'object', properties: { a: { type: 'number' } } }, '{"a":123456789012345678901}', false],
  ['a wrong expression', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }, '{"a":"b"}', false],
])('a schema with %s', async (_, given, text, isNamed) => {
  weak.always(says(text));
  expect((await outcome(format(given))).includes('does not match')).toBe(isNamed);
});

it('a schema whose check takes too long holds nothing up', async () => {
  weak.always(says(`{"a":"${'a'.repeat(40)}!"}`));
  const slow = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } }, required: ['a'] };
  const running = outcome(format(slow));
  const health = await fetch(`${gateway.url}/health`);
  expect(health.status).toBe(200);
  expect((await running).includes('does not match')).toBe(false);
});

it.each([
  'openai-responses',
  'anthropic-messages',
] as const)('a schema that only the prompt names, at %s', async (wire) => {
  const format = { text: { format: { type: 'json_schema', name: 'x', schema } } };
  const upstream = await startUpstream();
  const other = await testGateway({
    providers: [
      {
        id: 'weak',
        wire,
        base_url: upstream.url,
        dialect: { format: { json_schema: 'describe' } },
        models: [{ model: 'weak/m' }],
      },
    ],
  });
  upstream.always(plainAnswers[wire](`\`\`\`json\n${good}\n\`\`\``));
  const healed = await other.post('/responses', { model: 'weak/m', input: 'Hi', ...format });
  expect(await healed.json()).toMatchObject({ output: [{ content: [{ text: good }] }] });
  upstream.always(plainAnswers[wire](bad));
  const headers = { 'x-router-metadata': 'enabled' };
  const poor = await other.post('/responses', { model: 'weak/m', input: 'Hi', ...format }, { headers });
  expect(await poor.text()).toContain('text.format (the response does not match it)');
  await other.close();
  await upstream.close();
});

it('a tool call is not checked', async () => {
  const tool_calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const message = { role: 'assistant', content: null, tool_calls };
  weak.always(json({ choices: [{ index: 0, finish_reason: 'tool_calls', message }], usage }));
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }];
  expect(await outcome({ ...format(schema), tools })).toBe('text.format (requested in the prompt)');
});
