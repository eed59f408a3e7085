import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { readRows } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/* Subagents that call functions of the client: the response ends, and a later request resumes them. */

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const lookup = {
  type: 'function',
  name: 'lookup',
  parameters: { type: 'object', properties: { key: { type: 'string' } } },
};
const subagent = { type: 'router:subagent', parameters: { inherit_functions: true } };
const tools = [lookup, subagent];
const task = { task_name: 'find', task_description: 'Find the value of k1.' };
const delegating: Turn = { calls: [call('router_subagent', task)] };
const looking = (...keys: string[]): Turn => ({ calls: keys.map((key) => call('lookup', { key })) });
const working: Turn = { text: 'It is 42.' };
const answering: Turn = { text: 'The value is 42.' };
const user = { type: 'message', role: 'user', content: 'What is k1?' };
const turnTokens = defaultCounts.input + defaultCounts.output;

type Item = OutputItem & Record<string, unknown>;
const itemsOf = (served: Served) => shownItems(served) as Item[];
const callsOf = (served: Served) => itemsOf(served).filter(({ type }) => type === 'function_call');
const outputsOf = (served: Served, output = 'the value is 42') =>
  callsOf(served).map(({ call_id }, index) => ({
    type: 'function_call_output',
    call_id,
    output: `${output} ${index}`,
  }));

describe.each(wireNames)('a subagent with functions on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (input: readonly object[], request: object, ...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, input, ...request });
    };
    const sent = () => lab.takeRequests().map((request) => readSent(wire, request));

    it('waits for its functions, and goes on in the next request', async () => {
      const first = await respond([user], {}, delegating, looking('k1'));
      expect(first.body.status).toBe('completed');
      const [item, awaited] = itemsOf(first);
      expect(item).toMatchObject({ type: 'router:subagent', status: 'in_progress', ...task });
      expect(awaited).toMatchObject({
        type: 'function_call',
        status: 'completed',
        name: 'lookup',
        subagent_id: item!['call_id'],
        subagent_items: expect.arrayContaining([expect.objectContaining({ type: 'function_call' })]),
      });
      expect(JSON.parse(awaited!['arguments'] as string)).toEqual({ key: 'k1' });
      expect(sent().map(({ tools: names }) => names)).toEqual([['lookup', 'router_subagent'], ['lookup']]);
      expect(first.body.usage).toMatchObject({ total_tokens: 2 * turnTokens });

      const input = [user, ...first.body.output, ...outputsOf(first)];
      const second = await respond(input, {}, working, answering);
      const [ended, message] = itemsOf(second);
      expect(second.body.status).toBe('completed');
      expect(ended).toMatchObject({
        type: 'router:subagent',
        status: 'completed',
        outcome: 'It is 42.',
        ...task,
        call_id: item!['call_id'],
      });
      expect(ended!.id).not.toBe(item!.id);
      expect(message).toMatchObject({ type: 'message' });
      const [inner, outer] = sent();
      expect(inner!.calls).toMatchObject([{ name: 'lookup', value: { key: 'k1' } }]);
      expect(JSON.stringify(inner!.results[0]!.value)).toContain('the value is 42 0');
      expect(outer!.calls).toMatchObject([{ name: 'router_subagent', value: task }]);
      expect(outer!.results.map(({ value }) => value)).toEqual([
        { status: 'ok', model: `acme/${wire}`, task_name: 'find', outcome: 'It is 42.' },
      ]);
      expect(second.body.usage).toMatchObject({ total_tokens: 2 * turnTokens });

      const later = [...input, ...second.body.output, { type: 'message', role: 'user', content: 'Thanks.' }];
      await respond(later, {}, answering);
      const [replayed] = sent();
      expect(replayed!.calls).toEqual(outer!.calls);
      expect(replayed!.results).toEqual(outer!.results);
    });

    it('can wait in several rounds', async () => {
      const first = await respond([user], {}, delegating, looking('k1', 'k2'));
      const calls = callsOf(first);
      expect(calls).toHaveLength(2);
      expect(calls.map((each) => 'subagent_items' in each)).toEqual([true, false]);
      const input = [user, ...first.body.output, ...outputsOf(first, 'first')];

      const second = await respond(input, {}, looking('k3'));
      expect(second.body).toMatchObject({ status: 'completed', usage: { total_tokens: turnTokens } });
      expect(itemsOf(second).map(({ type }) => type)).toEqual(['function_call']);
      expect(callsOf(second)[0]).toMatchObject({ subagent_id: calls[0]!['subagent_id'] });
      expect(sent()).toHaveLength(1); // the outer model is not called

      const more = [...input, ...second.body.output, ...outputsOf(second, 'second')];
      const third = await respond(more, {}, working, answering);
      expect(itemsOf(third)).toMatchObject([{ status: 'completed', outcome: 'It is 42.' }, { type: 'message' }]);
      const [inner, outer] = sent();
      expect(inner!.calls.map(({ value }) => value)).toEqual([{ key: 'k1' }, { key: 'k2' }, { key: 'k3' }]);
      expect(JSON.stringify(inner!.results)).toMatch(/first 0.*first 1.*second 0/);
      expect(outer!.calls).toHaveLength(1);
    });

    it('lets the outer model go on only when all subagents have ended', async () => {
      const both: Turn = {
        calls: [call('router_subagent', task), call('router_subagent', { ...task, task_name: 'other' })],
      };
      const first = await respond([user], {}, both, looking('k1'), looking('k1'));
      const workers = itemsOf(first).filter(({ type }) => type === 'router:subagent');
      expect(workers.map(({ status }) => status)).toEqual(['in_progress', 'in_progress']);
      const calls = callsOf(first);
      expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(2);
      expect(new Set(calls.map(({ subagent_id }) => subagent_id))).toEqual(
        new Set(workers.map((each) => each['call_id'])),
      );

      const input = [user, ...first.body.output, ...outputsOf(first)];
      const second = await respond(input, {}, working, looking('k2'));
      expect(
        itemsOf(second)
          .map(({ type }) => type)
          .sort(),
      ).toEqual(['function_call', 'router:subagent']);
      expect(sent()).toHaveLength(2);

      const third = await respond(
        [...input, ...second.body.output, ...outputsOf(second)],
        {},
        { text: 'Also 42.' },
        answering,
      );
      expect(itemsOf(third)).toMatchObject([{ type: 'router:subagent', outcome: 'Also 42.' }, { type: 'message' }]);
      const outer = sent().at(-1)!;
      expect(outer.calls.map(({ name }) => name)).toEqual(['router_subagent', 'router_subagent']);
      expect(outer.results).toHaveLength(2);
    });

    it('degrades to an error if its items were changed or an output is missing', async () => {
      const first = await respond([user], {}, delegating, looking('k1', 'k2'));
      const outputs = outputsOf(first);
      const broken: [string, object[]][] = [
        ['an output of its functions is missing', [...first.body.output, outputs[0]!]],
        [
          'were not sent back unchanged',
          [...first.body.output.map(({ subagent_items: _, ...item }) => item), ...outputs],
        ],
        [
          'were not sent back unchanged',
          [
            ...first.body.output.map((item) =>
              'subagent_items' in item ? { ...item, subagent_items: [{ type: 'x' }] } : item,
            ),
            ...outputs,
          ],
        ],
        [
          'were not sent back unchanged',
          [...JSON.parse(JSON.stringify(first.body.output).replaceAll('\\"k1\\"', '\\"k3\\"')), ...outputs],
        ],
      ];
      for (const [says, items] of broken) {
        const second = await respond([user, ...items], {}, answering);
        expect(itemsOf(second)).toMatchObject([
          { type: 'router:subagent', status: 'failed', error: expect.stringContaining(says) },
          { type: 'message' },
        ]);
        const [outer] = sent();
        expect(outer!.results[0]!.value).toMatchObject({ status: 'error', task_name: 'find' });
      }
    });
  });
});

describe('a subagent with functions', () => {
  const wire = 'openai-chat';
  const respond = (request: object, ...turns: Turn[]) => {
    lab.takeRequests();
    lab.script(wire, ...turns);
    return lab.respond(wire, 'streamed', { tools, input: [user], ...request });
  };

  it('shows no end of the suspended item, and the transcript only at the end of the first call', async () => {
    const served = await respond({}, delegating, looking('k1'));
    const events = served.events as unknown as { type: string; item?: Item }[];
    const own = events.filter(({ item }) => item?.type === 'router:subagent');
    expect(own).toMatchObject([
      { type: 'response.output_item.added', item: { status: 'in_progress', ...task, call_id: expect.any(String) } },
    ]);
    const calls = events.filter(({ item }) => item?.type === 'function_call');
    expect(calls.map(({ type, item }) => [type, 'subagent_id' in item!, 'subagent_items' in item!])).toEqual([
      ['response.output_item.added', true, false],
      ['response.output_item.done', true, true],
    ]);
    expect(stageOf(served)).toMatchObject({ stop_reason: 'client_calls' });
    expect(served.body.usage!.server_tool_use_details).toMatchObject({
      tool_calls_requested: 1,
      tool_calls_executed: 0,
    });
  });

  it('inherits only the named functions, also of a group, and none by default', async () => {
    const group = {
      type: 'namespace',
      name: 'crm',
      description: 'Customers',
      tools: [
        { type: 'function', name: 'find', parameters: {} },
        { type: 'function', name: 'delete', parameters: {} },
      ],
    };
    for (const [parameters, names] of [
      [{}, []],
      [{ inherited_function_names: [' lookup ', 'find'] }, ['lookup', 'crm__find']],
      [{ inherit_functions: true, inherited_function_names: ['lookup'] }, ['lookup', 'crm__find', 'crm__delete']],
    ] as const) {
      await respond({ tools: [lookup, group, { ...subagent, parameters }] }, delegating, working, answering);
      const [, inner] = lab.takeRequests();
      expect(readSent(wire, inner!).tools).toEqual(names);
    }
  });

  it('keeps the group of a function over the requests', async () => {
    const group = {
      type: 'namespace',
      name: 'crm',
      description: 'Customers',
      tools: [{ type: 'function', name: 'find', parameters: {} }],
    };
    const request = { tools: [group, subagent] };
    const first = await respond(request, delegating, { calls: [call('crm__find', {})] });
    expect(callsOf(first)[0]).toMatchObject({ name: 'find', namespace: 'crm' });
    const input = [user, ...first.body.output, ...outputsOf(first)];
    const second = await respond({ ...request, input }, working, answering);
    expect(itemsOf(second)[0]).toMatchObject({ status: 'completed' });
    expect(readSent(wire, lab.takeRequests()[0]!).calls).toMatchObject([{ name: 'crm__find' }]);
  });

  it.each<[string, object, string]>([
    ['an unknown function', { inherited_function_names: ['none'] }, 'tools[1].parameters.inherited_function_names[0]'],
    ['a blank name', { inherited_function_names: [' '] }, 'tools[1].parameters.inherited_function_names[0]'],
  ])('rejects %s', async (_, parameters, path) => {
    const { status, body } = await respond({ tools: [lookup, { ...subagent, parameters }] });
    expect(status).toBe(400);
    expect(body.error!.metadata!['issues']).toMatchObject([{ path }]);
  });

  it('rejects a call with a wrong subagent_id', async () => {
    const first = await respond({}, delegating, looking('k1'));
    const changed = first.body.output.map((item) => ('subagent_id' in item ? { ...item, subagent_id: 'other' } : item));
    const { status, body } = await respond({ input: [user, ...changed, ...outputsOf(first)] });
    expect(status).toBe(400);
    expect(body.error!.message).toContain('subagent_id');
  });

  it('goes on beside a function that the outer model has called in the same turn', async () => {
    const mixed: Turn = { calls: [call('lookup', { key: 'own' }), call('router_subagent', task)] };
    const first = await respond({}, mixed, looking('k1'));
    expect(itemsOf(first).map(({ type }) => type)).toEqual(['function_call', 'router:subagent', 'function_call']);
    const input = [user, ...first.body.output, ...outputsOf(first)];
    await respond({ input }, working, answering);
    const [, outer] = lab.takeRequests();
    const { calls, results } = readSent(wire, outer!);
    expect(calls.map(({ name }) => name)).toEqual(['lookup', 'router_subagent']);
    expect(new Set(results.map(({ id }) => id))).toEqual(new Set(calls.map(({ id }) => id)));
  });

  it('has one limit of tool calls over all rounds', async () => {
    const limited = {
      type: 'router:subagent',
      parameters: { inherit_functions: true, tools: [{ type: 'router:datetime' }], max_tool_calls: 1 },
    };
    const both: Turn = { calls: [call('router_datetime'), call('lookup', { key: 'k1' })] };
    const request = { tools: [lookup, limited] };
    const first = await respond(request, delegating, both);
    expect(callsOf(first)).toHaveLength(1);
    const input = [user, ...first.body.output, ...outputsOf(first)];
    await respond({ ...request, input }, working, answering);
    const [inner] = lab.takeRequests();
    expect(readSent(wire, inner!).tools).toEqual(['lookup']);
    expect(readSent(wire, inner!).results).toHaveLength(2);
  });

  it('is an error for the model if the request has no subagent any more', async () => {
    const first = await respond({}, delegating, looking('k1'));
    const input = [user, ...first.body.output, ...outputsOf(first)];
    const second = await respond({ tools: [lookup], input }, answering);
    expect(second.body.status).toBe('completed');
    const { calls, results } = readSent(wire, lab.takeRequests()[0]!);
    expect(calls.map(({ name }) => name)).toEqual(['router_subagent']);
    expect(results[0]!.value).toMatchObject({ status: 'error', error: 'The call was interrupted.' });
  });

  it('does not go on with a message of the user in its transcript', async () => {
    const first = await respond({}, delegating, looking('k1'));
    const changed = first.body.output.map((item) => {
      const { subagent_items: items } = item as Item;
      return Array.isArray(items) ? { ...item, subagent_items: [user, ...items] } : item;
    });
    const served = await respond({ input: [user, ...changed, ...outputsOf(first)] }, answering);
    expect(itemsOf(served)[0]).toMatchObject({ status: 'failed', error: expect.stringContaining('unchanged') });
    expect(lab.takeRequests()).toHaveLength(1);
  });

  it('leaves calls beyond 32 alone, in linear time', async () => {
    const waiting = Array.from({ length: 20_000 }, (_, index) => ({
      type: 'router:subagent',
      id: `st_${index}`,
      status: 'in_progress',
      call_id: `c${index}`,
      ...task,
    }));
    const served = await respond({ input: [user, ...waiting] }, answering);
    expect(itemsOf(served).filter(({ status }) => status === 'failed')).toHaveLength(32);
    expect(lab.takeRequests()).toHaveLength(1);
  });

  it('fails if its transcript is too large', async () => {
    const long: Turn = { text: 'word '.repeat(230_000), calls: [call('lookup', { key: 'k1' })] };
    const served = await respond({}, delegating, long, answering);
    expect(itemsOf(served)).toMatchObject([
      { type: 'router:subagent', status: 'failed', error: expect.stringContaining('too large') },
      { type: 'message' },
    ]);
  });

  it('has a ledger entry for a round without a turn of the outer model', async () => {
    const first = await respond({}, delegating, looking('k1'));
    const input = [user, ...first.body.output, ...outputsOf(first)];
    lab.script(wire, looking('k2'));
    const response = await lab.gateway.post('/responses', { model: `acme/${wire}`, tools, input });
    const body = (await response.json()) as Served['body'];
    const id = response.headers.get('x-generation-id');
    const rows = await vi.waitFor(
      () => {
        const found = readRows(lab.gateway.dataDir).filter((row) => row['parent_id'] === id || row.id === id);
        expect(found).toHaveLength(2);
        return found;
      },
      { interval: 20 },
    );
    expect(rows.find((row) => row.id === id)).toMatchObject({ outcome: 'completed', status: 200, cost_nano_usd: 0 });
    const child = rows.find((row) => row.id !== id)!;
    expect(body.usage!.cost).toBeCloseTo(child.cost_nano_usd / 1e9, 12);
    expect(body.model).toBe(`acme/${wire}`);
  });

  it('stops when the client disconnects while it goes on', async () => {
    const first = await respond({}, delegating, looking('k1'));
    const input = [user, ...first.body.output, ...outputsOf(first)];
    const { requests } = lab.upstreams[0];
    const taken = requests.length;
    lab.script(wire, { text: 'Wait', after: 'silence' });
    const client = new AbortController();
    const body = { model: `acme/${wire}`, tools, input };
    const pending = lab.gateway.post('/responses', body, { signal: client.signal }).catch(() => undefined);
    await vi.waitFor(() => expect(requests).toHaveLength(taken + 1));
    client.abort();
    expect(await requests[taken]!.closed).toBe('aborted');
    await pending;
  });

  it('has at most ten resumed tasks in a request', async () => {
    const many: Turn = { calls: Array.from({ length: 10 }, () => call('router_subagent', task)) };
    const first = await respond({}, many, ...Array.from({ length: 10 }, () => looking('k1')));
    expect(callsOf(first)).toHaveLength(10);
    const copies = first.body.output.map((item) => {
      const { call_id: id, subagent_id: of } = item as Item;
      const ids = of === undefined ? { call_id: `${id}x` } : { call_id: `${id}x`, subagent_id: `${of}x` };
      return { ...item, id: `${item.id}x`, ...ids };
    });
    const again = outputsOf(first).map((output) => ({ ...output, call_id: `${output.call_id}x` }));
    const input = [user, ...first.body.output, ...outputsOf(first), ...copies, ...again];
    const served = await respond({ input }, ...Array.from({ length: 10 }, () => working), answering);
    const ended = itemsOf(served).filter(({ type }) => type === 'router:subagent');
    expect(ended).toHaveLength(20);
    expect(ended.filter(({ status }) => status === 'failed')).toHaveLength(10);
    expect(lab.takeRequests()).toHaveLength(11);
  });

  it('belongs to the entry that its item names', async () => {
    const second = {
      type: 'router:subagent',
      parameters: { ...subagent.parameters, name: 'Second', instructions: 'II' },
    };
    const request = { tools: [lookup, subagent, second] };
    const first = await respond(request, { calls: [call('router_subagent__1', task)] }, looking('k1'));
    const input = [user, ...first.body.output, ...outputsOf(first)];
    const served = await respond({ ...request, input }, working, answering);
    expect(itemsOf(served)[0]).toMatchObject({ instance_name: 'router_subagent__1', name: 'Second' });
    const [inner, outer] = lab.takeRequests();
    expect(inner!.text).toContain('II');
    expect(readSent(wire, outer!).calls).toMatchObject([{ name: 'router_subagent__1' }]);
  });
});
