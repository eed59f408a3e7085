import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { plainAnswers } from './plain-answers.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const provider = (wire: string) => ({
    id: wire,
    same_as: 'openai',
    wire,
    base_url: upstream.url,
    api_key: 'sk-test',
    models: [{ model: `${wire}/*`, upstream_model: '*' }],
  });
  gateway = await testGateway({ providers: [provider('openai-chat'), provider('openai-responses')] });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

interface Sent {
  tools?: { strict?: boolean; function?: { strict?: boolean } }[];
  text?: { format: { strict?: boolean } };
  response_format?: { json_schema: { strict?: boolean } };
}

// juspay/neurolink#1691: a strict schema of Claude may have optional properties, one of OpenAI may not.
describe.each(['openai-chat', 'openai-responses'] as const)('a strict schema of the Messages format at %s', (wire) => {
  it.each([
    ['stays strict', ['a'], true],
    ['is not strict with an optional property', [], false],
  ])('%s', async (_name, required, isStrict) => {
    upstream.always(plainAnswers[wire]('ok'));
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required, additionalProperties: false };
    const response = await gateway.post('/messages', {
      model: `${wire}/gpt-4o`,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'f', strict: true, input_schema: schema }],
      output_config: { format: { type: 'json_schema', schema } },
    });
    expect(response.status).toBe(200);
    const { tools, text, response_format: format } = upstream.requests.at(-1)!.body as Sent;
    const [tool] = tools!;
    expect(tool!.strict ?? tool!.function?.strict).toBe(isStrict);
    expect(text?.format.strict ?? format?.json_schema.strict).toBe(isStrict);
  });
});

/** Schemas of Effect have it: vercel/ai#15155. The servers take only a root of the type object. */
describe.each(['openai-chat', 'openai-responses'] as const)('a schema whose root is a reference at %s', (wire) => {
  const properties = { next: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] } };
  const node = { type: 'object', properties, required: ['next'], additionalProperties: false };
  const schema = { $ref: '#/$defs/Node', $defs: { Node: node } };
  const whole = { ...node, $defs: { Node: node } };
  const format = { name: 'answer', strict: true, schema };

  it.each([
    [
      '/responses',
      {
        input: 'Hi',
        text: { format: { type: 'json_schema', ...format } },
        tools: [{ type: 'function', name: 'f', parameters: schema }],
      },
    ],
    [
      '/chat/completions',
      {
        messages: [{ role: 'user', content: 'Hi' }],
        response_format: { type: 'json_schema', json_schema: format },
        tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
      },
    ],
    [
      '/messages',
      {
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Hi' }],
        output_config: { format: { type: 'json_schema', schema } },
        tools: [{ name: 'f', input_schema: schema }],
      },
    ],
  ])('has the target as its root, of %s', async (path, body) => {
    upstream.always(plainAnswers[wire]('ok'));
    const response = await gateway.post(path, { model: `${wire}/gpt-5.6`, ...body });
    expect(response.status).toBe(200);
    const sent = upstream.requests.at(-1)!.body;
    expect(sent).toMatchObject(
      wire === 'openai-chat'
        ? { tools: [{ function: { parameters: whole } }], response_format: { json_schema: { schema: whole } } }
        : { tools: [{ parameters: whole }], text: { format: { schema: whole } } },
    );
    expect(JSON.stringify(sent)).not.toContain('"parameters":{"$ref"');
  });

  it('of an output that is a list stays', async () => {
    upstream.always(plainAnswers[wire]('ok'));
    const list = { type: 'array', items: { type: 'string' } };
    await gateway.post('/responses', {
      model: `${wire}/gpt-5.6`,
      input: 'Hi',
      text: { format: { type: 'json_schema', name: 'answer', schema: list } },
    });
    const { text, response_format: given } = upstream.requests.at(-1)!.body as Sent;
    expect(text?.format ?? given?.json_schema).toMatchObject({ schema: list });
  });
});
