import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type RunningStrictProvider, startStrictProvider, strictProviders } from '../../src/testing/strict/index.ts';
import { STRICT_COMPACTION } from '../../src/testing/strict/responses.ts';
import { responseText } from '../../src/testing/strict/plan-output.ts';
import { readStream, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { entryOf } from '../rules/strict-lab.ts';
import { type Lab, openLab, provider, streamFrames, stream, wholeBody, wires } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { gate } from './open-stream.ts';
import { type Json, main, manage, other } from './manage.ts';

const trigger = { type: 'compaction_trigger' };
const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const tools = [
  { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } },
];
/** A conversation with a call, as an agent sends it. */
const conversation = [
  user('Fix the bug in parser.ts.'),
  { type: 'function_call', call_id: 'call_00000000000000000000', name: 'look', arguments: '{"at":"parser.ts"}' },
  { type: 'function_call_output', call_id: 'call_00000000000000000000', output: 'Line 3 is wrong.' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I see it.', annotations: [] }] },
];

const one = { model: 'small/one', upstream_model: 'm' };
const style = { format: { type: 'json_object' }, verbosity: 'low' };

type Item = Record<string, unknown> & { type: string };
interface Answer {
  status: number;
  body: { output: Item[]; object: string; usage: { cost: number; input_tokens: number } } & Record<string, unknown>;
  text: string;
}

async function post(gateway: TestGateway, path: string, body: object, key?: string): Promise<Answer> {
  const response = await gateway.post(path, body, { ...(key !== undefined && { key }) });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Answer['body'], text };
}

describe('with every strict provider', () => {
  const running = new Map<string, RunningStrictProvider>();
  let gateway: TestGateway;
  const fakes = strictProviders.filter(({ id }) =>
    /^(?:openai|openai-responses|xai|azure-responses|anthropic|mistral|gemini|deepseek|vllm|llama-cpp)$/.test(id),
  );

  beforeAll(async () => {
    for (const fake of fakes) running.set(fake.id, await startStrictProvider(fake));
    const providers = fakes.map((fake) => ({
      ...entryOf(fake, running.get(fake.id)!.url),
      ...(fake.id === 'openai-responses' && { dialect: { native_compaction: true } }),
    }));
    gateway = await testGateway({ providers });
  });
  afterAll(async () => {
    await gateway.close();
    for (const fake of running.values()) await fake.close();
  });

  const seen = (id: string) => running.get(id)!.upstream.requests.at(-1)!;

  describe.each(
    fakes.map(({ id, model }) => ({ id, model: `${id}/${model}`, isNative: id === 'openai-responses' })),
  )('$id', ({ id, model, isNative }) => {
    it('an item that ends the input returns one compaction, which stands for the conversation afterwards', async () => {
      const body = { model, instructions: 'Be brief.', input: [...conversation, trigger], tools, stream: true };
      const { events } = await readStream(await gateway.post('/responses', body));
      const done = events.flatMap((event) =>
        event.type === 'response.output_item.done' ? [event['item'] as Item] : [],
      );
      expect(running.get(id)!.refusals).toEqual([]);
      expect(done).toEqual([{ type: 'compaction', id: expect.any(String), encrypted_content: expect.any(String) }]);
      expect((events.at(-1) as Json).response).toMatchObject({
        status: 'completed',
        output: done,
        usage: expect.any(Object),
      });
      const sent = JSON.stringify(seen(id).body);
      expect(sent.includes('Summarize this conversation')).toBe(!isNative);
      expect(sent.includes('compaction_trigger')).toBe(isNative);

      const next = await post(gateway, '/responses', { model, input: [user('Go on.'), ...done] });
      expect(next, next.text).toMatchObject({ status: 200 });
      const resent = JSON.stringify(seen(id).body);
      expect(resent).toContain(isNative ? String(done[0]!['encrypted_content']) : responseText);
      expect(running.get(id)!.refusals).toEqual([]);
    });

    it('POST /responses/compact returns the messages of the user and a compaction', async () => {
      const { status, body, text } = await post(gateway, '/responses/compact', { model, input: conversation, tools });
      expect(status, text).toBe(200);
      expect(body).toMatchObject({ object: 'response.compaction', id: expect.any(String), usage: expect.any(Object) });
      expect(body.output.map(({ type, role }) => role ?? type)).toEqual(['user', 'compaction']);
      expect(body.output[0]).toMatchObject(conversation[0]!);
      const content = String(body.output[1]!['encrypted_content']);
      expect(content.startsWith(isNative ? STRICT_COMPACTION : 'hgc1.')).toBe(true);
      expect(seen(id).path.endsWith('/responses/compact')).toBe(isNative);
      const again = await post(gateway, '/responses', { model, input: [...body.output, user('Go on.')] });
      expect(again, again.text).toMatchObject({ status: 200 });
      expect(running.get(id)!.refusals).toEqual([]);
    });
  });
});

describe('a compaction', () => {
  let lab: Lab;
  let gateway: TestGateway;
  beforeAll(async () => {
    lab = await openLab();
    ({ gateway } = lab);
  });
  afterAll(() => lab.close());

  const answer = (text: string) => lab.upstream.always(() => json(wholeBody('openai-chat', text)));
  const model = 'openai-chat/patient';
  const call = manage(() => gateway);
  /** Creates a key, with a guardrail if there are filters. */
  const createKey = async (workspaceId: string, filters?: object[], more: object = {}): Promise<string> => {
    const { body } = await call('POST', '/keys', { name: 'k', workspace_id: workspaceId, ...more });
    if (filters) {
      const guardrail = { name: 'g', workspace_id: workspaceId, content_filter_builtins: filters };
      const { id } = (await call('POST', '/guardrails', guardrail)).body.data;
      await call('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [body.data.hash] });
    }
    return body.key;
  };
  const compact = async (key?: string): Promise<Item> => {
    answer('The summary of Ada.');
    const { body, text } = await post(gateway, '/responses', { model, input: [user('Hi'), trigger] }, key);
    expect(body.output, text).toHaveLength(1);
    return body.output[0]!;
  };
  const sent = () => JSON.stringify(lab.upstream.requests.at(-1)!.body);

  it('costs what its run costs, and has one entry in the ledger', async () => {
    answer('A summary.');
    const response = await gateway.post('/responses', { model, input: [user('Hi'), trigger] });
    const { usage } = (await response.json()) as Answer['body'];
    expect(usage).toMatchObject({ input_tokens: 20, cost: expect.any(Number) });
    const id = response.headers.get('x-generation-id');
    const generation = await (await gateway.get(`/generation?id=${id}`)).json();
    expect(generation).toMatchObject({ data: { total_cost: usage.cost } });
  });

  it('becomes a message for every API of the workspace, also as context_compaction', async () => {
    const item = await compact();
    for (const type of ['compaction', 'context_compaction']) {
      answer('Ok.');
      const again = await post(gateway, '/responses', { model, input: [{ ...item, type }, user('Go on.')] });
      expect(again.status, again.text).toBe(200);
      expect(sent()).toContain('The summary of Ada.');
      expect(again.text).not.toContain('hgc1.');
    }
  });

  it('is compacted again with the conversation after it, and its text is no message of the user', async () => {
    const item = await compact();
    const { body } = await post(gateway, '/responses/compact', { model, input: [item, user('More.')] });
    expect(sent()).toContain('The summary of Ada.');
    expect(body.output.map(({ type, role }) => role ?? type)).toEqual(['user', 'compaction']);
    expect(JSON.stringify(body.output)).not.toContain('Ada');
  });

  it.each<[string, (content: string) => string]>([
    ['changed', (content) => `${content.slice(0, -6)}AAAA${content.slice(-2)}`],
    ['truncated', (content) => content.slice(0, -8)],
    ['forged', () => 'hgc1.aGVsbG8='],
    ['empty', () => 'hgc1.'],
  ])('is a 400 if it was %s', async (_, change) => {
    const item = await compact();
    const before = lab.upstream.requests.length;
    const changed = { ...item, encrypted_content: change(String(item['encrypted_content'])) };
    for (const path of ['/responses', '/responses/compact', '/responses/input_tokens']) {
      const { status, body } = await post(gateway, path, { model, input: [user('Hi'), changed] });
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: { metadata: { issues: [{ path: 'input[1].encrypted_content' }] } } },
      });
    }
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it('is a 400 in another workspace', async () => {
    const key = await createKey(other);
    const item = await compact();
    answer('Ok.');
    expect(await post(gateway, '/responses', { model, input: [item, user('Hi')] }, key)).toMatchObject({ status: 400 });
    expect(await post(gateway, '/responses', { model, input: [await compact(key), user('Hi')] }, key)).toMatchObject({
      status: 200,
    });
  });

  it('of a provider goes to no other, and is named', async () => {
    answer('Ok.');
    const native = { type: 'compaction', encrypted_content: 'gAAAA-of-another' };
    const response = await gateway.post('/responses', { model, input: [native, user('Hi')] });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-dropped-fields')).toBe('input[0]');
    expect(sent()).not.toContain('gAAAA');
  });

  it('counts as its text', async () => {
    answer('word '.repeat(2000));
    const { body } = await post(gateway, '/responses', { model, input: [user('Hi'), trigger] });
    const counted = await post(gateway, '/responses/input_tokens', { model, input: body.output });
    expect(counted.body['input_tokens']).toBeGreaterThan(1500);
    expect(counted.body['input_tokens']).toBeLessThan(3000);
  });

  it.each<[string, object, number, string]>([
    ['before the end', { input: [trigger, user('Hi')] }, 422, 'input[0]'],
    ['alone', { input: [trigger] }, 422, 'input'],
  ])('is not requested by an item %s', async (_, body, status, path) => {
    expect(await post(gateway, '/responses', { model, ...body })).toMatchObject({
      status,
      body: { error: { metadata: { issues: [{ path }] } } },
    });
  });

  it('rejects a stream and an empty conversation at POST /responses/compact', async () => {
    expect(await post(gateway, '/responses/compact', { model, input: 'Hi', stream: true })).toMatchObject({
      status: 400,
    });
    for (const body of [{ model }, { model, input: [] }])
      expect(await post(gateway, '/responses/compact', body)).toMatchObject({
        status: 422,
        body: { error: { message: 'input: There is no conversation to compact.' } },
      });
  });

  it('is made by the next endpoint if a model writes no summary', async () => {
    lab.upstream.respond(json(wholeBody('openai-chat', ' ')));
    lab.upstream.respond(json(wholeBody('openai-chat', 'A summary.')));
    const models = ['openai-chat/patient', 'openai-chat/hasty'];
    const { status, text } = await post(gateway, '/responses', { models, input: [user('Hi'), trigger] });
    expect(status, text).toBe(200);
  });

  it.each([
    [400, { max_output_tokens: 1 }, 'max_output_tokens cuts off the summary'],
    [502, {}, 'The output limit of the model cut off the summary'],
  ])('is a %i if %j cuts off the summary', async (status, limit, message) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'A' }, finish_reason: 'length' }];
    const cut = json({ ...wholeBody('openai-chat'), choices });
    lab.upstream.always(() => cut);
    const failure = await post(gateway, '/responses/compact', { model, input: [user('Hi')], ...limit });
    expect(failure, failure.text).toMatchObject({
      status,
      body: { error: { message: expect.stringContaining(message) } },
    });
  });

  it.each(wires)('contains the text of a stream of %s, and shows none of it', async (wire) => {
    lab.upstream.always(() => stream(wire, streamFrames(wire, ['A streamed', ' summary.'])));
    const body = { model: `${wire}/patient`, input: [user('Hi'), trigger], stream: true };
    const { text, events } = await readStream(await gateway.post('/responses', body));
    expect(text).not.toContain('streamed');
    const item = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event['item']] : []))[0];
    answer('Ok.');
    await post(gateway, '/responses', { model, input: [item, user('Hi')] });
    expect(sent()).toContain('A streamed summary.');
  });

  it('is inspected: the summary before it is sealed, and again when it returns', async () => {
    const key = await createKey(main);
    const filtered = await createKey(main, [{ slug: 'email', action: 'redact', apply_to: ['input', 'output'] }]);
    answer('Write to ada@example.org.');
    const body = { model, input: [user('Hi'), trigger] };
    const plain = (await post(gateway, '/responses', body, key)).body.output[0]!;
    const redacted = (await post(gateway, '/responses', body, filtered)).body.output[0]!;
    answer('Ok.');
    await post(gateway, '/responses', { model, input: [redacted, user('Hi')] }, key);
    expect(sent()).toContain('Write to [EMAIL].');
    await post(gateway, '/responses', { model, input: [plain, user('Hi')] }, key);
    expect(sent()).toContain('ada@example.org');
    await post(gateway, '/responses', { model, input: [plain, user('Hi')] }, filtered);
    expect(sent()).toContain('Write to [EMAIL].');
  });

  it('is a 403 if a guardrail blocks the summary, or a summary that returns', async () => {
    const blocked = await createKey(main, [{ slug: 'email', action: 'block', apply_to: ['input', 'output'] }]);
    answer('Write to ada@example.org.');
    const body = { model, input: [user('Hi'), trigger] };
    for (const path of ['/responses', '/responses/compact'])
      expect(await post(gateway, path, body, blocked)).toMatchObject({ status: 403 });
    const { output } = (await post(gateway, '/responses', body)).body;
    expect(await post(gateway, '/responses', { model, input: [...output, user('Hi')] }, blocked)).toMatchObject({
      status: 403,
    });
  });

  it('is rejected with the limits of any request', async () => {
    const key = await createKey(main, undefined, { limit: 0.000001 });
    for (const path of ['/responses', '/responses/compact'])
      expect(
        await post(gateway, path, { model, input: [user('Hi'), trigger], max_output_tokens: 1000 }, key),
      ).toMatchObject({ status: 402 });
  });

  it('has the metadata of a response', async () => {
    answer('A summary.');
    const headers = { 'x-router-metadata': 'enabled' };
    const response = await gateway.post('/responses/compact', { model, input: 'Hi', text: style }, { headers });
    expect(await response.json()).toMatchObject({ router_metadata: { requested: model, attempts: [{ status: 200 }] } });
    const { body } = lab.upstream.requests.at(-1)!;
    expect(body).not.toHaveProperty('response_format');
    expect(body).toMatchObject({ verbosity: 'low' });
  });

  it('ends with its client', async () => {
    const client = new AbortController();
    const arrived = gate();
    lab.upstream.always(() => {
      arrived.open();
      return stallBeforeHeaders();
    });
    const session = newSession();
    const body = { model, input: 'Hi', session_id: session };
    const asked = gateway.post('/responses/compact', body, { signal: client.signal }).catch(() => {});
    await arrived.opened;
    client.abort();
    await asked;
    expect(await lab.upstream.requests.at(-1)!.closed).toBe('aborted');
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ outcome: 'cancelled', status: 499 }]);
  });

  it('keeps its last item if the input is shortened', async () => {
    const small = await testGateway({
      providers: [provider('openai-chat', 'small', lab.upstream, { models: [{ ...one, context_length: 2000 }] })],
    });
    try {
      answer('A summary.');
      const long = Array.from({ length: 40 }, (_, index) => user(`${index} ${'word '.repeat(100)}`));
      const fields = { truncation: 'auto', max_output_tokens: 100 };
      const { status, text } = await post(small, '/responses', {
        model: one.model,
        input: [...long, trigger],
        ...fields,
      });
      expect(status, text).toBe(200);
      const { messages } = lab.upstream.requests.at(-1)!.body as { messages: object[] };
      expect(messages.length).toBeLessThan(30);
      expect(JSON.stringify(messages.at(-1))).toContain('Summarize this conversation');
    } finally {
      await small.close();
    }
  });
});
