import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { type Lab, openLab } from './lab.ts';

/* Routes and items that Codex and other agents of the Responses format use. */

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

// https://github.com/router-for-me/CLIProxyAPI/issues/5753
it('gets a call of its custom tool from a server that calls it as a function', async () => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'apply_patch' };
  const output = [{ ...call, status: 'completed', arguments: '{"input":"*** Begin Patch"}' }];
  lab.upstream.respond(json({ id: 'r', object: 'response', status: 'completed', output }));
  const tools = [{ type: 'custom', name: 'apply_patch', format: { type: 'text' } }];
  const body = { model: 'openai-responses/patient', input: 'Patch it.', tools };
  const response = await lab.gateway.post('/responses', body);
  expect(((await response.json()) as { output: object[] }).output).toMatchObject([
    { type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** Begin Patch' },
  ]);
  expect(lab.upstream.requests.at(-1)!.body).toMatchObject({ tools });
});

describe('POST /responses/input_tokens', () => {
  async function count(body: object) {
    const response = await lab.gateway.post('/responses/input_tokens', body);
    return {
      status: response.status,
      source: response.headers.get('x-router-token-count'),
      body: await response.json(),
    };
  }

  it('returns the count of a provider of the format', async () => {
    lab.upstream.respond(json({ object: 'response.input_tokens', input_tokens: 4242 }));
    const tools = [{ type: 'function', name: 'now', parameters: { type: 'object', properties: {} } }];
    const body = {
      instructions: 'Be brief.',
      input: 'Hello',
      tools,
      temperature: 1,
      max_output_tokens: 50,
      stream: true,
    };

    expect(await count({ model: 'openai-responses/patient', ...body })).toEqual({
      status: 200,
      source: 'provider',
      body: { object: 'response.input_tokens', input_tokens: 4242 },
    });
    const { path, body: sent } = lab.upstream.requests.at(-1)!;
    expect(path).toBe('/v1/responses/input_tokens');
    expect(Object.keys(sent as object).sort()).toEqual(['input', 'instructions', 'model', 'tools']);
  });

  it('counts a message of another API, too', async () => {
    lab.upstream.respond(json({ object: 'response.input_tokens', input_tokens: 7 }));
    const messages = [{ role: 'user', content: 'Hello' }];
    const response = await lab.gateway.post('/messages/count_tokens', { model: 'openai-responses/patient', messages });
    expect(await response.json()).toEqual({ input_tokens: 7 });
    expect(response.headers.get('x-router-token-count')).toBe('provider');
  });

  it('estimates if the provider has no such call, and for other wires', async () => {
    const estimate = { status: 200, source: 'estimate', body: { input_tokens: expect.any(Number) } };
    lab.upstream.respond(json({ error: { message: 'Not found' } }, { status: 404 }));
    expect(await count({ model: 'openai-responses/patient', input: 'Hello' })).toMatchObject(estimate);
    const before = lab.upstream.requests.length;
    expect(await count({ model: 'openai-chat/patient', input: 'Hello' })).toMatchObject(estimate);
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it('rejects an invalid body as POST /responses does', async () => {
    const input = [{ type: 'message', role: 'robot', content: 'Hello' }];
    expect(await count({ model: 'openai-chat/patient', input })).toMatchObject({
      status: 400,
      body: { error: { metadata: { issues: [{ path: 'input[0].role' }] } } },
    });
  });
});

describe('GET /models?client_version', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const base = { base_url: lab.upstream.url, api_key: 'upstream-key-of-a-test' };
    gateway = await testGateway({
      providers: [
        { id: 'claude', wire: 'anthropic-messages', ...base, models: [{ model: 'anthropic/claude-sonnet-5.5' }] },
        { id: 'gpt', wire: 'openai-responses', ...base, models: [{ model: 'openai/gpt-5-mini' }] },
        {
          id: 'own',
          wire: 'openai-chat',
          ...base,
          models: [
            { model: 'own/plain' },
            { model: 'own/no-tools', capabilities: { tools: false } },
            { model: 'openai/text-embedding-3-small' },
          ],
        },
      ],
    });
  });
  afterAll(() => gateway.close());

  async function list(version: string): Promise<Record<string, unknown>[]> {
    const response = await gateway.get(`/models?client_version=${version}`);
    return ((await response.json()) as { models: Record<string, unknown>[] }).models;
  }

  it('describes the models that an agent can use', async () => {
    const models = await list('0.169.0');
    const own = models.filter(({ slug }) => !/^(?:router|~)/.test(String(slug)));
    expect(own.map(({ slug }) => slug)).toEqual(['anthropic/claude-sonnet-5.5', 'openai/gpt-5-mini', 'own/plain']);
    expect(own[0]).toMatchObject({
      display_name: 'Claude Sonnet 5.5',
      context_window: 1_000_000,
      default_reasoning_level: 'medium',
      input_modalities: ['text', 'image'],
      supported_reasoning_levels: ['low', 'medium', 'high', 'xhigh', 'max'].map((effort) => ({ effort })),
    });
    expect(own[2]).toMatchObject({ context_window: null, supported_reasoning_levels: [], input_modalities: ['text'] });
  });

  it('has every field that some version of Codex requires, in an order before the models of its vendor', async () => {
    // Source: openai/codex, codex-rs/protocol/src/openai_models.rs, and the error of version 0.169.0 without the field
    const required = [
      ...['slug', 'display_name', 'supported_reasoning_levels', 'shell_type', 'visibility', 'supported_in_api'],
      ...['priority', 'base_instructions', 'support_verbosity', 'supports_reasoning_summaries', 'truncation_policy'],
      ...['supports_parallel_tool_calls', 'experimental_supported_tools', 'input_modalities'],
    ];
    const models = await list('0.169.0');
    for (const model of models) for (const name of required) expect(model[name] ?? null, name).not.toBeNull();
    const priorities = models.map(({ priority }) => priority as number);
    expect(priorities).toEqual(priorities.toSorted((one, other) => one - other));
    expect(priorities.at(-1)).toBeLessThan(1);
  });

  it('names no effort that an older version cannot read', async () => {
    const efforts = (await list('0.133.0')).flatMap(({ supported_reasoning_levels: levels }) => levels as object[]);
    expect(JSON.stringify(efforts)).toContain('xhigh');
    expect(JSON.stringify(efforts)).not.toContain('"max"');
  });

  it('is missing for other clients', async () => {
    expect(await (await gateway.get('/models')).json()).not.toHaveProperty('models');
  });
});
