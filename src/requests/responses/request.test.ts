import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import { readRequest } from './request.ts';

const minimal = { model: 'acme/mock', input: 'hi' };
const read = (fields: object, headers: { sessionId?: string } = {}) => readRequest({ ...minimal, ...fields }, headers);

function failure(fields: object, headers: { sessionId?: string } = {}): GatewayError {
  try {
    read(fields, headers);
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error('The request was accepted.');
}

describe('readRequest', () => {
  it('throws every problem as one error 400', () => {
    const error = failure({ store: true, top_p: 'x' });
    expect(error).toMatchObject({ kind: 'invalid_request', status: 400 });
    expect(error.metadata.issues).toHaveLength(2);
    expect(error.message).toMatch(/^store: `store` must be `false`.* \(and 1 more: see error\.metadata\.issues\)$/);
  });

  it('makes a string one user message', () => {
    expect(read({}).request.input).toEqual([{ type: 'message', role: 'user', content: 'hi' }]);
  });

  it('gives a message its type', () => {
    const input = [
      { role: 'user', content: 'a' },
      { type: 'message', role: 'assistant', content: 'b' },
    ];
    expect(read({ input }).request.input.map((item) => item.type)).toEqual(['message', 'message']);
  });

  it('leaves the input of a prompt template empty', () => {
    expect(read({ input: undefined, prompt: { id: 'p' } }).request.input).toEqual([]);
    expect(read({ input: '', prompt: { id: 'p' } }).request.input).toEqual([]);
  });

  it('keeps a missing image detail missing', () => {
    const part = { type: 'input_image', image_url: 'https://example.com/a.png' };
    expect(read({ input: [{ role: 'user', content: [part] }] }).request.input[0]).toMatchObject({ content: [part] });
    expect(part).not.toHaveProperty('detail');
  });

  it('keeps fields of items and parts that it does not know', () => {
    const item = { type: 'message', role: 'user', content: 'a', newer: [1] };
    expect(read({ input: [item] }).request.input[0]).toEqual(item);
  });

  it('keeps background as given', () => {
    expect(read({ background: true }).request.background).toBe(true);
  });

  it('works in place', () => {
    const body = { ...minimal };
    expect(readRequest(body, {}).request).toBe(body);
  });
});

describe('session id', () => {
  it('comes from the header when the body has none', () => {
    expect(read({}, { sessionId: 'h' }).request.session_id).toBe('h');
    expect(read({}).request.session_id).toBeUndefined();
    expect(read({}, { sessionId: '' }).request.session_id).toBeUndefined();
  });

  it('of the body wins over the header', () => {
    expect(read({ session_id: 'b' }, { sessionId: 'h' }).request.session_id).toBe('b');
  });

  it('of the header has at most 256 characters, also when the body wins', () => {
    expect(read({}, { sessionId: 'x'.repeat(256) }).request.session_id).toHaveLength(256);
    const tooLong = { sessionId: 'x'.repeat(257) };
    expect(failure({}, tooLong).metadata.issues).toEqual([
      { path: 'x-session-id', message: expect.stringContaining('has 257 characters; at most 256 are allowed') },
    ]);
    expect(failure({ session_id: 'b' }, tooLong).status).toBe(400);
  });
});

describe('aliases and clamps', () => {
  it('reads service_tier fast as priority', () => {
    expect(read({ service_tier: 'fast' }).request.service_tier).toBe('priority');
    expect(read({ service_tier: 'flex' }).request.service_tier).toBe('flex');
  });

  it('clamps max_tool_calls above 30 and says so', () => {
    expect(read({ max_tool_calls: 30 })).toMatchObject({ request: { max_tool_calls: 30 }, clamped: [] });
    expect(read({ max_tool_calls: 31 })).toMatchObject({
      request: { max_tool_calls: 30 },
      clamped: ['max_tool_calls: 31 is above the maximum and was lowered to 30.'],
    });
    expect(read({ max_tool_calls: null }).request.max_tool_calls).toBeNull();
  });

  it('lowers the step counts of conditions to the maximum of the operator, and then ignores max_tool_calls', () => {
    const steps = (count: number) => ({ type: 'step_count_is', step_count: count });
    const cost = { type: 'max_cost', max_cost_in_dollars: 500 };
    const readSteps = (given: object) => {
      const body = { model: 'a/b', input: 'hi', stop_server_tools_when: given, max_tool_calls: 31 };
      const { request, clamped } = readRequest(body, { maxSteps: 100 });
      return [request.stop_server_tools_when, clamped];
    };
    const lowered = (path: string) => `${path}: 101 is above the maximum and was lowered to 100.`;
    expect(readSteps(steps(100))).toEqual([steps(100), []]);
    expect(readSteps(steps(101))).toEqual([steps(100), [lowered('stop_server_tools_when.step_count')]]);
    expect(readSteps([cost, steps(101)])).toEqual([
      [cost, steps(100)],
      [lowered('stop_server_tools_when[1].step_count')],
    ]);
  });

  it.each<[string, object, unknown, string[]]>([
    ['fallback is the default', { route: 'fallback' }, undefined, []],
    ['sort is the partition none', { route: 'sort' }, { sort: { partition: 'none' } }, []],
    [
      'sort keeps the key to sort by',
      { route: 'sort', provider: { sort: 'price' } },
      { sort: { by: 'price', partition: 'none' } },
      [],
    ],
    [
      'the newer field wins',
      { route: 'sort', provider: { sort: { partition: 'model' } } },
      { sort: { partition: 'model' } },
      [],
    ],
    ['null says nothing', { route: null }, undefined, []],
    ['other values are ignored', { route: { a: 1 } }, undefined, ['route']],
  ])('reads the deprecated route: %s', (_, fields, provider, ignoredFields) => {
    const result = read(fields);
    expect(result.request.provider).toEqual(provider);
    expect(result.ignoredFields).toEqual(ignoredFields);
    expect(result.request).not.toHaveProperty('route');
  });
});

describe('unknown top-level fields', () => {
  it.each([
    [{ background: true }, ['background']],
    [{ background: false }, []],
    [{ user: 'ada', safety_identifier: 'bob' }, ['user']],
    [{ user: 'ada', safety_identifier: 'ada' }, []],
  ])('names what has no effect: %j', (fields, ignoredFields) => {
    expect(read(fields).ignoredFields).toEqual(ignoredFields);
  });

  it('are removed and named', () => {
    const { request, ignoredFields } = read({ stream_options: {}, conversation: null, temperature: 1 });
    expect(ignoredFields).toEqual(['stream_options', 'conversation']);
    expect(Object.keys(request).sort()).toEqual(['input', 'model', 'temperature']);
  });

  it('may be called __proto__ or constructor without harm', () => {
    const body = JSON.parse(
      '{"model":"m","input":"hi","__proto__":{"stream":true},"constructor":{"prototype":{"a":1}}}',
    );
    const { request, ignoredFields } = readRequest(body, {});
    expect(ignoredFields).toEqual(['__proto__', 'constructor']);
    expect(request.stream).toBeUndefined();
    expect(Object.keys(request)).toEqual(['model', 'input']);
    expect({}).not.toHaveProperty('stream');
    expect({}).not.toHaveProperty('a');
  });
});

it('knows every field of the interface’s own schema', () => {
  const schema = JSON.parse(
    readFileSync(new URL('../../../tests/interface/responses.schema.json', import.meta.url), 'utf8'),
  );
  const fields = Object.keys(schema.$defs.Request.properties);
  const { ignoredFields } = read(
    Object.fromEntries(fields.filter((field) => !(field in minimal)).map((field) => [field, undefined])),
  );
  expect(fields).toContain('top_logprobs');
  expect(ignoredFields).toEqual([]);
});
