import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { readRows } from '../api/ledger-rows.ts';
import { openStream } from '../api/open-stream.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({ server: { keep_alive_comment_ms: 20 } });
});
afterAll(() => lab.close());

const advisorOf = (parameters: object = {}) => ({ type: 'router:advisor', parameters });
const tools = [advisorOf()];
const asking = (prompt: string, more: object = {}): Turn => ({ calls: [call('router_advisor', { prompt, ...more })] });
const advising: Turn = { text: 'Use a map.' };
const answering: Turn = { text: 'I used a map.' };
const turnTokens = defaultCounts.input + defaultCounts.output;
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

/** The events of an item, without its number. */
const eventsOf = ({ events }: Served, type: string) => {
  const own = events as unknown as { type: string; item?: OutputItem; item_id?: string; output_index?: number }[];
  const index = own.find(({ item }) => item?.type === type)!.output_index;
  return own.filter((event) => event.output_index === index);
};

describe.each(wireNames)('router:advisor on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (request: object, ...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, ...request });
    };

    it('asks another model, and goes on with its advice', async () => {
      const served = await respond({}, asking('Map or list?'), advising, answering);

      const [item, message] = shownItems(served);
      expect(served.body).toMatchObject({ status: 'completed', usage: { total_tokens: 3 * turnTokens } });
      expect(served.body.usage!.cost).toBeCloseTo(3 * turnUsd, 12);
      expect(item).toMatchObject({
        type: 'router:advisor',
        status: 'completed',
        prompt: 'Map or list?',
        advice: 'Use a map.',
        model: `acme/${wire}`,
      });
      expect(item).not.toHaveProperty('instance_name');
      expect(message).toMatchObject({ type: 'message' });
      const sent = lab.takeRequests();
      expect(sent).toHaveLength(3);
      expect(sent[1]!.text).toContain('Map or list?');
      expect(sent[1]!.text).not.toContain('What is the time?');
      expect(readSent(wire, sent[1]!).tools).toEqual([]); // an advisor cannot consult an advisor
      const [result] = readSent(wire, sent[2]!).results;
      expect(result!.value).toEqual({ status: 'ok', model: `acme/${wire}`, advice: 'Use a map.' });
    });

    it('gives the advisor its own settings', async () => {
      const parameters = { instructions: 'Be a lawyer.', max_completion_tokens: 77, temperature: 0.5 };
      await respond({ tools: [advisorOf(parameters)], temperature: 1 }, asking('Is it legal?'), advising, answering);

      const [, inner] = lab.takeRequests();
      expect(inner!.text).toContain('Be a lawyer.');
      expect(JSON.stringify(readSent(wire, inner!).settings)).toContain('77');
      expect(readSent(wire, inner!).settings).toMatchObject({ temperature: 0.5 });
    });

    it('sends the whole conversation with forward_transcript', async () => {
      const input = [
        { type: 'message', role: 'user', content: 'First question' },
        { type: 'function_call', call_id: 'c1', name: 'lookup', arguments: '{"key":"k1"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'the value of k1' },
        { type: 'router:datetime', id: 'st_9', status: 'completed', datetime: '2026-01-02T03:04:05Z', timezone: 'UTC' },
      ];
      const request = { input, instructions: 'Outer rules', tools: [advisorOf({ forward_transcript: true })] };
      const served = await respond(request, { calls: [call('router_advisor')] }, advising, answering);

      expect(shownItems(served)[0]).toMatchObject({ status: 'completed', advice: 'Use a map.' });
      const [, inner] = lab.takeRequests();
      for (const text of ['First question', 'lookup', 'k1', 'the value of k1', '2026-01-02', 'Outer rules']) {
        expect(inner!.text).toContain(text);
      }
      expect(readSent(wire, inner!)).toMatchObject({ tools: [], calls: [], results: [] });
    });

    it('streams the advice only if the definition says so', async () => {
      const long = 'Use a map, because the keys are known.';
      for (const stream of [true, false]) {
        const served = await respond({ tools: [advisorOf({ stream })] }, asking('How?'), { text: long }, answering);
        expect(shownItems(served)[0]).toMatchObject({ advice: long });
        if (mode === 'buffered') continue;
        const events = eventsOf(served, 'router:advisor');
        const deltas = events.slice(1, -2) as unknown as { type: string; delta: string; item_id: string }[];
        if (!stream) {
          expect(events.map(({ type }) => type)).toEqual(['response.output_item.added', 'response.output_item.done']);
          continue;
        }
        expect(deltas.length).toBeGreaterThan(0);
        expect(deltas.every(({ type }) => type === 'response.output_text.delta')).toBe(true);
        expect(deltas.map(({ delta }) => delta).join('')).toBe(long);
        expect(events.at(-2)).toMatchObject({
          type: 'response.output_text.done',
          text: long,
          content_index: 0,
          logprobs: [],
          item_id: shownItems(served)[0]!.id,
        });
      }
    });

    it('has several advisors with memories of their own, over requests', async () => {
      const both = [advisorOf(), advisorOf({ name: ' Law ' })];
      const first: Turn = { calls: [call('router_advisor', { prompt: 'Style?' })] };
      const second: Turn = { calls: [call('router_advisor__1', { prompt: 'Legal?' })] };
      const turns = [first, { text: 'Short.' }, second, { text: 'Yes.' }, answering];
      const served = await respond({ tools: both }, ...turns);

      expect(shownItems(served).slice(0, 2)).toMatchObject([
        { advice: 'Short.', instance_name: 'router_advisor' },
        { advice: 'Yes.', instance_name: 'router_advisor__1' },
      ]);
      const [offer] = lab.takeRequests();
      expect(readSent(wire, offer!).tools).toEqual(['router_advisor', 'router_advisor__1']);
      expect(offer!.text).toContain('"Law\\"');

      const input = [
        { type: 'message', role: 'user', content: 'What is the time?' },
        ...served.body.output,
        { type: 'message', role: 'user', content: 'And now?' },
      ];
      const again: Turn = { calls: [call('router_advisor__1', { prompt: 'Still legal?' })] };
      await respond({ tools: both, input }, again, { text: 'No.' }, again, { text: 'No!' }, answering);
      const [replayed, inner, , later] = lab.takeRequests();
      expect(readSent(wire, replayed!).calls.map(({ name }) => name)).toEqual(['router_advisor', 'router_advisor__1']);
      expect(inner!.text).toContain('Legal?');
      expect(inner!.text).toContain('Yes.');
      expect(inner!.text).not.toContain('Style?');
      expect(later!.text).toContain('No.'); // the consultation before it in the same response
    });

    it('replays a consultation as the model saw it', async () => {
      const served = await respond({}, asking('Map or list?'), advising, answering);
      const [, , live] = lab.takeRequests();
      const input = [{ type: 'message', role: 'user', content: 'What is the time?' }, ...served.body.output];
      await respond({ input: [...input, { type: 'message', role: 'user', content: 'Go on.' }] }, answering);
      const [replayed] = lab.takeRequests();
      expect(readSent(wire, replayed!).calls).toEqual(readSent(wire, live!).calls);
      expect(readSent(wire, replayed!).results).toEqual(readSent(wire, live!).results);
    });

    it('fails if the model of the advisor fails, and the response goes on', async () => {
      const failing: Turn = { fail: { status: 400, message: 'Too strange.' } };
      const served = await respond({}, asking('Map?'), failing, answering);

      expect(served.body.status).toBe('completed');
      const [item] = shownItems(served);
      expect(item).toMatchObject({ status: 'failed', prompt: 'Map?', error: expect.stringContaining('Too strange.') });
      const last = readSent(wire, lab.takeRequests().at(-1)!);
      expect(last.results[0]!.value).toEqual({ status: 'error', error: item!['error'] });
      expect(stageOf(served)).toMatchObject({ calls: [{ tool: 'router:advisor', error: item!['error'] }] });
    });
  });
});

describe('router:advisor', () => {
  const wire = 'openai-chat';
  const respond = (request: object, ...turns: Turn[]) => {
    lab.takeRequests();
    lab.script(wire, ...turns);
    return lab.respond(wire, 'streamed', { tools, ...request });
  };

  it('uses the model of the definition, then that of the call', async () => {
    const other = 'acme/anthropic-messages';
    lab.script(wire, asking('Q', { model: other }));
    lab.script('anthropic-messages', advising);
    lab.script(wire, answering);
    const byCall = await lab.respond(wire, 'buffered', { tools });
    expect(shownItems(byCall)[0]).toMatchObject({ model: other });

    const fixed = { tools: [advisorOf({ model: `acme/${wire}` })] };
    const byDefinition = await respond(fixed, asking('Q', { model: other }), advising, answering);
    expect(shownItems(byDefinition)[0]).toMatchObject({ status: 'completed', model: `acme/${wire}` });
    const [offer] = lab.takeRequests();
    expect(JSON.stringify((offer!.body as { tools: unknown }).tools)).not.toContain('"model"');
  });

  it('is forced by its type: the first entry', async () => {
    const both = [advisorOf({ name: 'Art' }), advisorOf()];
    await respond({ tools: both, tool_choice: { type: 'router:advisor' } }, answering);
    const [sent] = lab.takeRequests();
    expect(readSent(wire, sent!)).toMatchObject({
      tools: ['router_advisor', 'router_advisor__1'],
      choice: 'router_advisor',
    });
  });

  it.each<[string, object[], string]>([
    ['two without a name', [advisorOf(), advisorOf()], 'tools[1].parameters.name'],
    ['two with one name', [advisorOf({ name: 'a' }), advisorOf({ name: ' a ' })], 'tools[1].parameters.name'],
    ['an unknown parameter', [advisorOf({ tools: [] })], 'tools[0].parameters.tools'],
    ['a temperature above 2', [advisorOf({ temperature: 2.1 })], 'tools[0].parameters.temperature'],
    ['no tokens', [advisorOf({ max_completion_tokens: 0 })], 'tools[0].parameters.max_completion_tokens'],
  ])('rejects %s', async (_, list, path) => {
    const { status, body } = await respond({ tools: list });
    expect(status).toBe(400);
    expect(body.error!.metadata!['issues']).toMatchObject([{ path }]);
  });

  it('says that only one advisor can have no name', async () => {
    const { body } = await respond({ tools: [advisorOf(), advisorOf()] });
    expect(body.error!.message).toContain('one `router:advisor` at most may go without a name');
  });

  it('has at most ten consultations in a response, of all advisors', async () => {
    const both = [advisorOf(), advisorOf({ name: 'Law' })];
    const many: Turn = {
      calls: Array.from({ length: 12 }, (_, at) => call(`router_advisor${at % 2 ? '__1' : ''}`, { prompt: `Q${at}` })),
    };
    const served = await respond({ tools: both }, many, ...Array.from({ length: 10 }, () => advising), answering);
    const items = shownItems(served).filter(({ type }) => type === 'router:advisor');
    const failed = items.filter(({ status }) => status === 'failed');
    expect(items).toHaveLength(12);
    expect(failed.map(({ prompt }) => prompt)).toEqual(['Q10', 'Q11']);
    expect(failed[0]!['error']).toContain('limit of 10 consultations');
    expect(lab.takeRequests()).toHaveLength(12);
  });

  it('fails without a prompt', async () => {
    const served = await respond({}, { calls: [call('router_advisor', { prompt: ' ' })] }, answering);
    expect(shownItems(served)[0]).toMatchObject({
      status: 'failed',
      error: '`prompt` is missing. Write everything that the advisor needs to know.',
    });
  });

  it('fails if the advisor writes no text', async () => {
    const silent: Turn = { text: '', finish: 'length' };
    const served = await respond({}, asking('Q'), silent, answering);
    expect(shownItems(served)[0]).toMatchObject({
      status: 'failed',
      error: 'acme/openai-chat ended without a text (max_output_tokens).',
    });
  });

  it('fails with the error of an exceeded budget, and the response goes on', async () => {
    const body = { name: 'advised', limit: 3.5 * turnUsd, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const created = await lab.gateway.post('/keys', body, { key: testKeys.managementKey });
    const { key } = (await created.json()) as { key: string };
    const costly = advisorOf({ max_completion_tokens: 1000 });
    lab.takeRequests();
    lab.script(wire, asking('Q'), answering);
    const served = await lab.respond(wire, 'buffered', { tools: [costly], max_output_tokens: 10 }, { key });
    expect(served.status).toBe(200);
    expect(shownItems(served)[0]).toMatchObject({ status: 'failed', error: expect.stringContaining('may spend') });
    expect(lab.takeRequests()).toHaveLength(2);
  });

  it('has a ledger entry of its own, which names the response', async () => {
    lab.script(wire, asking('Q'), advising, answering);
    const response = await lab.gateway.post('/responses', { model: `acme/${wire}`, input: 'Hi', tools });
    await response.json();
    const parent = response.headers.get('x-generation-id');
    const children = await vi.waitFor(
      () => {
        const rows = readRows(lab.gateway.dataDir).filter((row) => row['parent_id'] === parent);
        expect(rows).toHaveLength(1);
        return rows;
      },
      { interval: 20 },
    );
    expect(children[0]).toMatchObject({ cost_nano_usd: Math.round(turnUsd * 1e9), outcome: 'completed' });
  });

  it('stops when the client disconnects', async () => {
    lab.script(wire, asking('Q'), { text: 'Wait', after: 'silence' });
    const taken = lab.upstreams[0].requests.length;
    const body = { model: `acme/${wire}`, input: 'Hi', tools: [advisorOf({ stream: true })], stream: true };
    const stream = await openStream(lab.gateway, body);
    await stream.readUntil('response.output_text.delta');
    stream.leave();
    const inner = lab.upstreams[0].requests[taken + 1]!;
    expect(await inner.closed).toBe('aborted');
  });

  it('is left out of a request that serves an advisor of another gateway', async () => {
    lab.takeRequests();
    lab.script(wire, answering);
    const request = { tools: [...tools, { type: 'router:datetime' }], tool_choice: { type: 'router:advisor' } };
    const served = await lab.respond(wire, 'buffered', request, { headers: { 'x-router-advisor-depth': '1' } });
    expect(served.body.status).toBe('completed');
    expect(readSent(wire, lab.takeRequests()[0]!)).toMatchObject({ tools: ['router_datetime'], choice: 'auto' });
    const stage = served.body.router_metadata!.pipeline!.find(({ name }) => name === 'depth-guard');
    expect(stage!.data).toEqual({ unavailable: ['router:advisor'] });
  });

  it('tells a provider that can be a gateway that the request serves an advisor', async () => {
    lab.takeRequests();
    lab.script('openai-responses', asking('Q'), advising, answering);
    await lab.respond('openai-responses', 'buffered', { tools });
    const sent = lab.takeRequests();
    expect(sent.map(({ headers }) => headers['x-router-advisor-depth'])).toEqual([undefined, '1', undefined]);
  });

  it('fails if its model does not respond in time', async () => {
    const upstream = await startUpstream();
    const slow = await startUpstream();
    const providerOf = (id: string, url: string, more: object = {}) => ({
      id,
      wire,
      base_url: url,
      api_key: 'upstream-key-of-a-test',
      models: [{ model: `acme/${id}`, upstream_model: id }],
      ...more,
    });
    const timeouts = { first_byte_ms: 50 };
    const providers = [
      providerOf('fast', upstream.url),
      providerOf('slow', slow.url, { timeouts, retry: { attempts: 1 } }),
    ];
    const gateway = await testGateway({ providers });
    upstream.respond((request) => chatResponse(asking('Q'), request));
    upstream.respond((request) => chatResponse(answering, request));
    slow.respond((request) => chatResponse({ text: 'Wait', after: 'silence' }, request));
    const advisor = advisorOf({ model: 'acme/slow' });
    const response = await gateway.post('/responses', { model: 'acme/fast', input: 'Hi', tools: [advisor] });
    const body = (await response.json()) as Served['body'];
    await gateway.close();
    await upstream.close();
    await slow.close();
    expect(body.status).toBe('completed');
    expect(body.output[0]).toMatchObject({ status: 'failed', error: expect.stringContaining('50 ms') });
  });

  it('shortens a memory that does not fit the model', async () => {
    const long = Array.from({ length: 40 }, (_, at) => ({
      type: 'router:advisor',
      id: `st_${at}`,
      status: 'completed',
      call_id: `c${at}`,
      prompt: `Question ${at}`,
      advice: `Advice ${at} ${'word '.repeat(400)}`,
      model: 'm',
    }));
    const upstream = await startUpstream();
    const models = [
      { model: 'acme/large', upstream_model: 'l' },
      { model: 'acme/small', upstream_model: 's', context_length: 8000 },
    ];
    const provider = { id: 'acme', wire, base_url: upstream.url, api_key: 'upstream-key-of-a-test', models };
    const gateway = await testGateway({ providers: [provider] });
    const input = [...long, { type: 'message', role: 'user', content: 'Next' }];
    const tool = advisorOf({ model: 'acme/small', max_completion_tokens: 100 });
    for (const turn of [asking('Last question'), advising, answering]) {
      upstream.respond((request) => chatResponse(turn, request));
    }
    const response = await gateway.post('/responses', { model: 'acme/large', input, tools: [tool] });
    const body = (await response.json()) as Served['body'];
    await gateway.close();
    await upstream.close();
    expect(body.output[0]).toMatchObject({ status: 'completed', model: 'acme/small' });
    const [, inner] = upstream.requests;
    expect(inner!.text).toContain('Last question');
    expect(inner!.text).toContain('Question 0');
    expect(inner!.text).toContain('Question 39');
    expect(inner!.text).not.toContain('Question 20');
  });
});
