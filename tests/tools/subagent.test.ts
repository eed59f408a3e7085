import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readRows } from '../api/ledger-rows.ts';
import { openStream } from '../api/open-stream.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const subagentOf = (parameters: object = {}) => ({ type: 'router:subagent', parameters });
const tools = [subagentOf()];
const task = { task_name: 'count', task_description: 'Count the words.' };
const delegating: Turn = { calls: [call('router_subagent', task)] };
const working: Turn = { text: 'There are 3 words.' };
const answering: Turn = { text: 'Done: 3.' };
const turnTokens = defaultCounts.input + defaultCounts.output;
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

describe.each(wireNames)('router:subagent on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (request: object, ...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, ...request });
    };

    it('gives a task to another model, which sees nothing else', async () => {
      const served = await respond({}, delegating, working, answering);

      expect(served.body).toMatchObject({ status: 'completed', usage: { total_tokens: 3 * turnTokens } });
      expect(served.body.usage!.cost).toBeCloseTo(3 * turnUsd, 12);
      expect(shownItems(served)).toMatchObject([
        {
          type: 'router:subagent',
          status: 'completed',
          ...task,
          outcome: 'There are 3 words.',
          model: `acme/${wire}`,
        },
        { type: 'message' },
      ]);
      expect(shownItems(served)[0]).not.toHaveProperty('instance_name');
      const sent = lab.takeRequests();
      expect(sent[1]!.text).toContain('Count the words.');
      expect(sent[1]!.text).not.toContain('What is the time?');
      expect(readSent(wire, sent[1]!).tools).toEqual([]);
      const [result] = readSent(wire, sent[2]!).results;
      expect(result!.value).toEqual({
        status: 'ok',
        model: `acme/${wire}`,
        task_name: 'count',
        outcome: 'There are 3 words.',
      });
    });

    it('lets the subagent use server tools of its own, up to its limit', async () => {
      const own = subagentOf({
        tools: [{ type: 'router:datetime', parameters: { timezone: 'Asia/Tokyo' } }],
        max_tool_calls: 1,
      });
      const looking: Turn = { calls: [call('router_datetime')] };
      const served = await respond({ tools: [own] }, delegating, looking, working, answering);

      expect(shownItems(served).map(({ type }) => type)).toEqual(['router:subagent', 'message']);
      const [, first, second] = lab.takeRequests().map((request) => readSent(wire, request));
      expect(first!.tools).toEqual(['router_datetime']);
      expect(second!.results[0]!.value).toMatchObject({ timezone: 'Asia/Tokyo' });
      expect(second!.choice).toBe('none'); // its limit is reached
      expect(served.body.usage!.server_tool_use_details).toMatchObject({ tool_calls_requested: 1 });
    });

    it('replays a task as the model saw it', async () => {
      const served = await respond({}, delegating, working, answering);
      const [, , live] = lab.takeRequests();
      const input = [{ type: 'message', role: 'user', content: 'What is the time?' }, ...served.body.output];
      await respond({ input: [...input, { type: 'message', role: 'user', content: 'Go on.' }] }, answering);
      const [replayed] = lab.takeRequests();
      expect(readSent(wire, replayed!).calls).toEqual(readSent(wire, live!).calls);
      expect(readSent(wire, replayed!).results).toEqual(readSent(wire, live!).results);
    });

    it('fails if its model fails, and the response goes on', async () => {
      const served = await respond({}, delegating, { fail: { status: 400, message: 'Too strange.' } }, answering);

      const [item] = shownItems(served);
      expect(served.body.status).toBe('completed');
      expect(item).toMatchObject({ status: 'failed', ...task, error: expect.stringContaining('Too strange.') });
      const last = readSent(wire, lab.takeRequests().at(-1)!);
      expect(last.results[0]!.value).toEqual({ status: 'error', task_name: 'count', error: item!['error'] });
      expect(stageOf(served)).toMatchObject({ calls: [{ tool: 'router:subagent', error: item!['error'] }] });
    });
  });
});

describe('router:subagent', () => {
  const wire = 'openai-chat';
  const respond = (request: object, ...turns: Turn[]) => {
    lab.takeRequests();
    lab.script(wire, ...turns);
    return lab.respond(wire, 'streamed', { tools, ...request });
  };

  it('uses the model and the settings of its definition', async () => {
    const other = subagentOf({ model: 'acme/gemini', instructions: 'Be exact.', temperature: 0.1, name: ' Clerk ' });
    lab.takeRequests();
    lab.script(wire, delegating);
    lab.script('gemini', working);
    lab.script(wire, answering);
    const served = await lab.respond(wire, 'buffered', { tools: [other] });
    expect(shownItems(served)[0]).toMatchObject({ model: 'acme/gemini', name: 'Clerk' });
    const [first, inner] = lab.takeRequests();
    expect(first!.text).toContain('\\"Clerk\\"');
    expect(inner!.text).toContain('Be exact.');
    expect(readSent('gemini', inner!).settings).toMatchObject({ temperature: 0.1 });
  });

  it('has several entries, whose items name the function', async () => {
    const both = [subagentOf(), subagentOf({ name: 'Second' })];
    const second: Turn = { calls: [call('router_subagent__1', task)] };
    const served = await respond({ tools: both }, second, working, answering);
    expect(shownItems(served)[0]).toMatchObject({ instance_name: 'router_subagent__1', name: 'Second' });
    const input = [...served.body.output, { type: 'message', role: 'user', content: 'And?' }];
    await respond({ tools: both, input }, answering);
    expect(readSent(wire, lab.takeRequests()[0]!).calls).toMatchObject([{ name: 'router_subagent__1' }]);
  });

  it.each<[string, object[], string]>([
    ['two without a name', [subagentOf(), subagentOf()], 'tools[1].parameters.name'],
    ['a function', [subagentOf({ tools: [{ type: 'function', name: 'f' }] })], 'tools[0].parameters.tools[0].type'],
    ['itself', [subagentOf({ tools: [{ type: 'router:subagent' }] })], 'tools[0].parameters.tools[0].type'],
    ['an unknown tool', [subagentOf({ tools: [{ type: 'router:none' }] })], 'tools[0].parameters.tools[0].type'],
    ['26 calls', [subagentOf({ max_tool_calls: 26 })], 'tools[0].parameters.max_tool_calls'],
    ['a negative temperature', [subagentOf({ temperature: -1 })], 'tools[0].parameters.temperature'],
    [
      'a tool with a wrong parameter',
      [subagentOf({ tools: [{ type: 'router:datetime', parameters: { timezone: 'Moon' } }] })],
      'tools[0].parameters.tools[0].parameters.timezone',
    ],
    [
      'a tool twice',
      [subagentOf({ tools: [{ type: 'router:datetime' }, { type: 'router:datetime' }] })],
      'tools[0].parameters.tools[1].type',
    ],
    [
      'two advisors without a name',
      [subagentOf({ tools: [{ type: 'router:advisor' }, { type: 'router:advisor' }] })],
      'tools[0].parameters.tools[1].parameters.name',
    ],
  ])('rejects %s', async (_, list, path) => {
    const { status, body } = await respond({ tools: list });
    expect(status).toBe(400);
    expect(body.error!.metadata!['issues']).toMatchObject([{ path }]);
  });

  it('can have an advisor, whose work is part of the task', async () => {
    const advised = subagentOf({ tools: [{ type: 'router:advisor' }] });
    const consulting: Turn = { calls: [call('router_advisor', { prompt: 'How?' })] };
    const served = await respond({ tools: [advised] }, delegating, consulting, { text: 'So.' }, working, answering);
    expect(shownItems(served)[0]).toMatchObject({ status: 'completed', outcome: 'There are 3 words.' });
    expect(served.body.usage).toMatchObject({ total_tokens: 5 * turnTokens });
    expect(served.body.usage!.cost).toBeCloseTo(5 * turnUsd, 12);
  });

  it('has at most ten tasks in a response', async () => {
    const many: Turn = { calls: Array.from({ length: 11 }, () => call('router_subagent', task)) };
    const served = await respond({}, many, ...Array.from({ length: 10 }, () => working), answering);
    const failed = shownItems(served).filter(({ status }) => status === 'failed');
    expect(failed).toMatchObject([{ error: 'The limit of 10 tasks is reached. Continue without the subagent.' }]);
    expect(lab.takeRequests()).toHaveLength(12);
  });

  it('has a ledger entry of its own for each task, which names the response', async () => {
    const twice: Turn = { calls: [call('router_subagent', task), call('router_subagent', task)] };
    lab.script(wire, twice, working, working, answering);
    const response = await lab.gateway.post('/responses', { model: `acme/${wire}`, input: 'Hi', tools });
    const { usage } = (await response.json()) as { usage: { cost: number } };
    const parent = response.headers.get('x-generation-id');
    const rows = await vi.waitFor(
      () => {
        const found = readRows(lab.gateway.dataDir).filter((row) => row['parent_id'] === parent || row.id === parent);
        expect(found).toHaveLength(3);
        return found;
      },
      { interval: 20 },
    );
    const sum = rows.reduce((total, row) => total + row.cost_nano_usd, 0);
    expect(usage.cost).toBeCloseTo(sum / 1e9, 12);
    expect(sum).toBe(Math.round(4 * turnUsd * 1e9));
  });

  it('stops when the client disconnects', async () => {
    const { requests } = lab.upstreams[0];
    lab.script(wire, delegating, { text: 'Wait', after: 'silence' });
    const taken = requests.length;
    const body = { model: `acme/${wire}`, input: 'Hi', tools };
    const stream = await openStream(lab.gateway, body);
    await stream.readUntil('router:subagent');
    await vi.waitFor(() => expect(requests).toHaveLength(taken + 2));
    stream.leave();
    expect(await requests[taken + 1]!.closed).toBe('aborted');
  });

  it('is left out of a request that serves a subagent of another gateway', async () => {
    lab.takeRequests();
    lab.script(wire, answering);
    await lab.respond(wire, 'buffered', { tools }, { headers: { 'x-router-subagent-depth': '1' } });
    expect(readSent(wire, lab.takeRequests()[0]!).tools).toEqual([]);
  });
});
