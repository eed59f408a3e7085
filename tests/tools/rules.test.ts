import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { readStream, testKeys } from '../../src/testing/test-gateway.ts';
import { openStream } from '../api/open-stream.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { holdTool } from './held-tool.ts';
import { call, type Mode, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab } from './lab.ts';
import { type WireName, wireNames } from './lab.ts';
import { readSent, type SentTurn } from './sent.ts';

/* The rules of docs/reference/tools.md#steps on every wire, buffered and streamed. */

const held = holdTool('rules');
let engine: ScriptedUpstream;
let lab: ToolLab;
beforeAll(async () => {
  engine = await startUpstream();
  const exa = { driver: 'exa', base_url: engine.url, api_key: 'key-of-the-engine', price_per_search: 50 };
  const withoutSearch = { native_search: false };
  lab = await openToolLab(
    {
      server: { keep_alive_comment_ms: 20 },
      tools: { modules: [held.path], max_steps: 32, web_search: { engines: { exa } } },
    },
    {
      'openai-chat': { reasoning_details: true },
      'openai-responses': withoutSearch,
      'anthropic-messages': withoutSearch,
      gemini: withoutSearch,
    },
  );
});
afterAll(async () => {
  await lab.close();
  await engine.close();
  held.close();
});

const datetime = { type: 'router:datetime' };
const askUser = { type: 'function', name: 'ask_user', parameters: { type: 'object', properties: {} } };
const zone = (timezone: string) => call('router_datetime', { timezone });
const times = (count: number) => Array.from({ length: count }, () => zone('UTC'));
const asking: Turn = { calls: [zone('UTC')] };
const answering: Turn = { text: 'It is late.' };
const limitError = { error: 'Tool call limit reached. Respond with the results so far.' };
const turnTokens = defaultCounts.input + defaultCounts.output;
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

/** A way to send requests: the wire of the provider, and how the client reads. */
interface Way {
  wire: WireName;
  mode: Mode;
  /** Scripts the turns, and sends the request with `router:datetime`. */
  serve(request: object, ...turns: Turn[]): Promise<{ served: Served; sent: SentTurn[]; texts: string[] }>;
}

/** Rules by their names. Each holds on every wire, buffered and streamed. */
const rules: Record<string, (way: Way) => Promise<void>> = {
  'max_tool_calls is 30 by default and at most, and further calls of a turn get an error in their order': async ({
    serve,
  }) => {
    for (const request of [{}, { max_tool_calls: 500 }]) {
      const { served, sent } = await serve(request, { calls: times(33) }, answering);
      expect(shownItems(served)).toHaveLength(31);
      expect(sent).toHaveLength(2);
      expect(sent[1]!.results.map(({ value }) => 'error' in (value as object))).toEqual(
        Array.from({ length: 33 }, (_, index) => index >= 30),
      );
      expect(sent[1]!.results.slice(30).map(({ value }) => value)).toEqual([limitError, limitError, limitError]);
      expect(sent[1]).toMatchObject({ choice: 'none', tools: ['router_datetime'] });
      expect(served.body.usage?.server_tool_use_details).toEqual({
        tool_calls_requested: 33,
        tool_calls_executed: 30,
        web_search_requests: 0,
      });
    }
  },

  'max_tool_calls 0 offers no server tool': async ({ serve }) => {
    const { served, sent } = await serve({ max_tool_calls: 0, tools: [datetime, askUser] }, answering);
    expect(served.body.status).toBe('completed');
    expect(sent.map(({ tools }) => tools)).toEqual([['ask_user']]);
  },

  'a negative max_tool_calls is a 400': async ({ serve }) => {
    const { served, sent } = await serve({ max_tool_calls: -1 });
    expect(served.status).toBe(400);
    expect(served.body.error?.metadata?.['issues']).toMatchObject([{ path: 'max_tool_calls' }]);
    expect(sent).toEqual([]);
  },

  'a function of the client with the name of a server tool is a 400': async ({ serve }) => {
    const { served, sent } = await serve({ tools: [{ ...askUser, name: 'router_datetime' }, datetime] });
    expect(served.status).toBe(400);
    expect(served.body.error?.message).toContain('clashes with your function');
    expect(sent).toEqual([]);
  },

  'a condition is an object or a list, replaces max_tool_calls, and one turn without tools follows': async ({
    serve,
    wire,
  }) => {
    // Providers with another word for the end of a turn with calls still end it with this reason.
    const conditions: [object, number][] = [
      [{ type: 'step_count_is', step_count: 2 }, 2],
      [{ type: 'has_tool_call', tool_name: 'router:datetime' }, 1],
      [{ type: 'has_tool_call', tool_name: 'router_datetime' }, 1],
      [{ type: 'max_tokens_used', max_tokens: 2 * turnTokens }, 2],
      [{ type: 'max_cost', max_cost_in_dollars: 2 * turnUsd }, 2],
      [{ type: 'finish_reason_is', reason: 'tool_calls' }, 1],
    ];
    for (const [condition, turns] of conditions) {
      for (const given of [condition, [{ type: 'step_count_is', step_count: 99 }, condition]]) {
        const script = [...Array.from({ length: turns }, () => asking), answering];
        const { served, sent } = await serve({ stop_server_tools_when: given, max_tool_calls: 1 }, ...script);
        expect(shownItems(served), `${wire} ${JSON.stringify(given)}`).toHaveLength(turns + 1);
        expect(sent.map(({ choice }) => choice)).toEqual([...Array.from({ length: turns }, () => 'auto'), 'none']);
        expect(sent.at(-1)!.tools).toEqual(['router_datetime']);
        expect(stageOf(served)).toMatchObject({ stop_reason: (condition as { type: string }).type });
      }
    }
  },

  'a condition that a call of a client function meets ends the response, because the client has calls': async ({
    serve,
  }) => {
    const request = {
      tools: [datetime, askUser],
      stop_server_tools_when: { type: 'has_tool_call', tool_name: 'ask_user' },
    };
    const { served, sent } = await serve(request, { calls: [zone('UTC'), call('ask_user')] });
    expect(sent).toHaveLength(1);
    expect(
      shownItems(served)
        .map(({ type, status }) => [type, status])
        .sort(),
    ).toEqual([
      ['function_call', 'completed'],
      ['router:datetime', 'completed'],
    ]);
  },

  'calls of one turn run in their order, and each has one result': async ({ serve }) => {
    const zones = ['Asia/Tokyo', 'America/New_York', 'UTC'];
    const { served, sent } = await serve({}, { calls: zones.map(zone) }, answering);
    expect(shownItems(served).slice(0, 3)).toMatchObject(zones.map((timezone) => ({ timezone })));
    expect(sent[1]!.calls.map(({ value }) => value)).toEqual(zones.map((timezone) => ({ timezone })));
    expect(sent[1]!.results).toMatchObject(zones.map((timezone) => ({ value: { timezone } })));
    expect(sent[1]!.results.map(({ id }) => id)).toEqual(sent[1]!.calls.map(({ id }) => id));
    expect(new Set(sent[1]!.calls.map(({ id }) => id)).size).toBe(3);
  },

  'an unknown tool and invalid arguments are steps': async ({ serve }) => {
    for (const [bad, says] of [
      [call('router_magic'), /no tool named router_magic/],
      [call('router_datetime', { when: 'now' }), /arguments are invalid/],
    ] as const) {
      const { served, sent } = await serve({ max_tool_calls: 1 }, { calls: [bad, zone('UTC')] }, answering);
      expect(shownItems(served)).toMatchObject([{ type: 'message' }]);
      expect(sent[1]!.results).toMatchObject([
        { value: { error: expect.stringMatching(says) } },
        { value: limitError },
      ]);
      expect(sent[1]!.choice).toBe('none');
      expect(served.body.usage?.server_tool_use_details).toMatchObject({
        tool_calls_requested: 2,
        tool_calls_executed: 0,
      });
    }
  },

  'arguments that are no JSON object are a step': async ({ serve, wire, mode }) => {
    // The others always have an object.
    if (wire === 'gemini' || (wire === 'anthropic-messages' && mode === 'buffered')) return;
    for (const raw of ['{"timezone": "UT', '[]', 'null']) {
      const bad = { ...call('router_datetime'), raw };
      const { served, sent } = await serve({ max_tool_calls: 1 }, { calls: [bad] }, answering);
      expect(served.body.status).toBe('completed');
      expect(shownItems(served)).toMatchObject([{ type: 'message' }]);
      expect(sent[1]!.calls).toHaveLength(1);
      expect(sent[1]!.results).toMatchObject([{ value: { error: 'The arguments are not a JSON object.' } }]);
      expect(sent[1]!.choice).toBe('none');
    }
  },

  'server calls run before the response ends with calls of the client, and a new request goes on': async ({
    serve,
  }) => {
    const tools = [datetime, askUser];
    const { served, sent } = await serve({ tools }, { text: 'Both.', calls: [zone('Asia/Tokyo'), call('ask_user')] });
    expect(sent).toHaveLength(1);
    expect(served.body.status).toBe('completed');
    const output = shownItems(served);
    expect(output.map(({ type }) => type).sort()).toEqual(['function_call', 'message', 'router:datetime']);

    const { call_id } = output.find(({ type }) => type === 'function_call')!;
    const input = [
      { role: 'user', content: 'What is the time?' },
      ...output,
      { type: 'function_call_output', call_id, output: 'The user agrees.' },
    ];
    const next = await serve({ tools, input }, answering);
    expect(next.served.body.status).toBe('completed');
    const { calls, results } = next.sent[0]!;
    expect(calls.map(({ name }) => name).sort()).toEqual(['ask_user', 'router_datetime']);
    expect(results.map(({ id }) => id).sort()).toEqual(calls.map(({ id }) => id).sort());
    expect(JSON.stringify(results)).toContain('The user agrees.');
    expect(JSON.stringify(results)).toContain('Asia/Tokyo');
  },

  'the output limit in the middle ends the response as incomplete, and runs nothing': async ({ serve }) => {
    for (const turns of [[], [asking]]) {
      const cut: Turn = { text: 'Let me', calls: [zone('UTC')], finish: 'length' };
      const { served, sent } = await serve({}, ...turns, cut);
      expect(sent).toHaveLength(turns.length + 1);
      expect(served.body).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      });
      expect(shownItems(served).map(({ type }) => type)).toEqual([...turns.map(() => 'router:datetime'), 'message']);
    }
  },

  'after a fallback within a turn, later turns stay at that endpoint': async ({ serve, wire }) => {
    const before = lab.upstreams[1].requests.length;
    lab.scriptOther(wire, asking, answering);
    const { served, sent } = await serve({}, asking, { fail: { status: 503, message: 'Busy.' } });
    expect(served.body.status).toBe('completed');
    expect(shownItems(served)).toHaveLength(3);
    expect(sent).toHaveLength(2);
    expect(lab.upstreams[1].requests.length - before).toBe(2);
    expect(served.body.router_metadata?.attempts?.map(({ status }) => status)).toEqual([200, 529, 200, 200]);
  },

  'settings are the same in every turn, and so is the schema of the output': async ({ serve }) => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      required: ['a'],
      additionalProperties: false,
    };
    const request = {
      temperature: 0.3,
      max_output_tokens: 2000,
      text: { format: { type: 'json_schema', name: 'a', schema } },
    };
    const { served, sent } = await serve(request, asking, asking, { text: '{"a":1}' });
    expect(sent).toHaveLength(3);
    expect(sent.map(({ settings }) => settings)).toEqual(sent.map(() => sent[0]!.settings));
    expect(JSON.stringify(sent[0]!.settings)).toMatch(/0\.3.*2000|2000.*0\.3/);
    expect(sent.map(({ format }) => format)).toEqual([schema, schema, schema]);
    expect(shownItems(served).at(-1)).toMatchObject({ content: [{ text: '{"a":1}' }] });
  },

  'a tool_choice other than auto counts for the first turn': async ({ serve }) => {
    for (const [choice, first] of [
      ['required', 'required'],
      [datetime, 'router_datetime'],
      [{ type: 'function', name: 'ask_user' }, 'ask_user'],
    ] as const) {
      const { sent } = await serve({ tool_choice: choice, tools: [askUser, datetime] }, asking, asking, answering);
      expect(sent.map((turn) => turn.choice)).toEqual([first, 'auto', 'auto']);
    }
  },

  'reasoning of a turn is sent back unchanged': async ({ serve, wire }) => {
    const seal = Buffer.from('bytes of the provider \u{1f512}').toString('base64');
    const { texts } = await serve({}, { ...asking, reasoning: 'I need it.', encrypted: seal }, asking, answering);
    // The package refers to stored reasoning by its id.
    for (const text of texts.slice(1)) expect(text).toContain(wire === 'ai-sdk' ? '"id":"rs_' : `"${seal}"`);
    if (wire !== 'anthropic-messages') return;
    const signed = await serve({}, { ...asking, reasoning: 'I need it.' }, answering);
    expect(signed.texts[1]).toMatch(/"thinking":"I need it\.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGg/);
  },

  'a charge that does not fit into the budget is an error for the model': async ({ wire, mode }) => {
    const body = { name: 'small', limit: 1, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const created = await lab.gateway.post('/keys', body, { key: testKeys.managementKey });
    const { key } = (await created.json()) as { key: string };
    lab.takeRequests();
    const before = engine.requests.length;
    lab.script(wire, { calls: [call('router_web_search', { query: 'pumps' })] }, answering);
    const request = { tools: [{ type: 'router:web_search' }], max_output_tokens: 100 };
    const served = await lab.respond(wire, mode, request, { key });

    expect(served.body).toMatchObject({ status: 'completed', error: null });
    expect(shownItems(served)).toMatchObject([
      {
        type: 'router:web_search',
        status: 'failed',
        error: expect.stringMatching(/^The key "small" may spend 1 USD/),
      },
      { type: 'message' },
    ]);
    expect(engine.requests).toHaveLength(before);
    expect(served.body.usage).toMatchObject({
      cost_details: { server_tool_cost: 0 },
      server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1, web_search_requests: 0 },
      server_tool_use: { web_search_requests: 0 },
    });
  },

  'the usage is the sum over the turns, and searches are counted and charged': async ({ serve }) => {
    engine.respond(json({ results: [{ url: 'https://pumps.example/', title: 'Pumps', text: 'They work.' }] }));
    const searching: Turn = { calls: [call('router_web_search', { query: 'pumps' }), zone('UTC')] };
    const tools = [{ type: 'router:web_search' }, datetime];
    const { served } = await serve({ tools }, searching, asking, answering);
    expect(served.body.usage).toMatchObject({
      input_tokens: 3 * defaultCounts.input,
      output_tokens: 3 * defaultCounts.output,
      total_tokens: 3 * turnTokens,
      cost: expect.closeTo(3 * turnUsd + 50, 9),
      cost_details: { server_tool_cost: 50 },
      server_tool_use_details: { tool_calls_requested: 3, tool_calls_executed: 3, web_search_requests: 1 },
      server_tool_use: { web_search_requests: 1 },
    });
  },

  'items of calls have ids of their own, and indexes go on over the turns': async ({ serve, mode }) => {
    const texts = ['First.', 'Second.', 'Third.'];
    const turns = texts.map((text, index): Turn => (index < 2 ? { text, calls: times(2) } : { text }));
    const { served } = await serve({}, ...turns);
    const output = shownItems(served);
    const kinds = ['message', 'router:datetime', 'router:datetime'];
    expect(output.map(({ type }) => type)).toEqual([...kinds, ...kinds, 'message']);
    expect(output.map(({ status }) => status)).toEqual(output.map(() => 'completed'));
    const calls = output.filter(({ type }) => type === 'router:datetime');
    for (const { id } of calls) expect(id).toMatch(/^st_[A-Za-z0-9]+$/);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(4);
    if (mode === 'buffered') return;
    const moments = served.events.flatMap((event) => {
      const { item, output_index: index } = event as { item?: { type: string; status: string }; output_index?: number };
      return item?.type === 'router:datetime'
        ? [[event.type.slice('response.output_item.'.length), index, item.status]]
        : [];
    });
    for (const base of [0, 3]) {
      for (const index of [base + 1, base + 2]) {
        expect(moments.filter(([, at]) => at === index)).toEqual([
          ['added', index, 'in_progress'],
          ['done', index, 'completed'],
        ]);
      }
    }
    const types = served.events.map(({ type }) => type);
    expect(types.filter((type) => type === 'response.created')).toHaveLength(1);
    expect(types.join()).not.toContain('function_call_arguments');
  },

  'comments keep a stream open while a tool runs': async ({ wire, mode }) => {
    if (mode === 'buffered') return;
    lab.script(wire, { text: 'Let me wait.', calls: [call(held.name, { text: wire })] }, answering);
    const body = { model: `acme/${wire}`, tools: [{ type: held.type }], provider: { order: [`${wire}-0`] } };
    const open = await openStream(lab.gateway, body);
    const running = await held.next();
    const before = open.text.length;
    await open.readUntil(/"type":"router:held_rules".*\n\n: ROUTER PROCESSING\n\n: ROUTER PROCESSING\n\n/);
    expect(open.text.slice(before)).not.toContain('response.output_item.done","output_index":1');
    running.finish({ text: 'waited' });
    const stream = await readStream(new Response(await open.readAll()));
    expect(stream.events.at(-1)).toMatchObject({ type: 'response.completed' });
    expect(stream.done).toBe(true);
  },

  'a response never ends with an unfinished call, even if the provider ignores tool_choice none': async ({ serve }) => {
    const { served, sent } = await serve({ max_tool_calls: 1 }, asking, asking, answering);
    expect(sent.map(({ choice, tools }) => [choice, tools.length])).toEqual([
      ['auto', 1],
      ['none', 1],
      ['auto', 0],
    ]);
    expect(shownItems(served).map(({ type }) => type)).toEqual(['router:datetime', 'message']);
    expect(JSON.stringify(served.body.output)).not.toContain('function_call');
  },

  'items that are sent back become the calls and results that the model saw': async ({ serve }) => {
    const first = await serve({}, { calls: [zone('Asia/Tokyo'), zone('UTC')] }, asking, answering);
    const input = [
      { role: 'user', content: 'What is the time?' },
      ...first.served.body.output.filter(({ type }) => type !== 'reasoning'),
      { role: 'user', content: 'And now?' },
    ];
    const { served, sent } = await serve({ input }, answering);
    expect(served.body.status).toBe('completed');
    const [again, before] = [sent[0]!, first.sent.at(-1)!];
    for (const list of ['calls', 'results'] as const) {
      expect(again[list].map(({ value }) => value)).toEqual(before[list].map(({ value }) => value));
    }
    expect(again.results.map(({ id }) => id)).toEqual(again.calls.map(({ id }) => id));
    expect(new Set(again.calls.map(({ id }) => id)).size).toBe(3);
    expect(served.body.router_metadata?.params).not.toHaveProperty('dropped_fields');
  },
};

/** Returns a way for the wire of the provider and the mode of the client. */
const wayOf = (wire: WireName, mode: Mode): Way => ({
  wire,
  mode,
  async serve(request, ...turns) {
    lab.takeRequests();
    lab.script(wire, ...turns);
    const served = await lab.respond(wire, mode, { tools: [datetime], ...request });
    const requests = lab.takeRequests();
    return {
      served,
      sent: requests.map((sent) => readSent(wire, sent)),
      texts: requests.map(({ text }) => text),
    };
  },
});

describe.each(wireNames)('on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    it.each(Object.entries(rules))('%s', (_, check) => check(wayOf(wire, mode)));
  });
});

// Long loops, on two wires: no wire counts the steps.
it.each([
  ['openai-chat', 'buffered'],
  ['anthropic-messages', 'streamed'],
] as const)('a condition replaces the limit of 30, up to the maximum of the operator, on %s, %s', async (wire, mode) => {
  const limits: [object, number, string, string[]][] = [
    [{ type: 'step_count_is', step_count: 31 }, 31, 'step_count_is', []],
    [{ type: 'step_count_is', step_count: 33 }, 32, 'step_count_is', ['stop_server_tools_when.step_count: 33']],
    [{ type: 'has_tool_call', tool_name: 'other' }, 32, 'max_steps', []],
  ];
  for (const [condition, turns, reason, lowered] of limits) {
    const script = [...Array.from({ length: turns }, () => asking), answering];
    const { served, sent } = await wayOf(wire, mode).serve(
      { stop_server_tools_when: condition, max_tool_calls: 31 },
      ...script,
    );
    expect(sent).toHaveLength(turns + 1);
    expect(sent.map(({ choice }) => choice).slice(-2)).toEqual(['auto', 'none']);
    expect(shownItems(served)).toHaveLength(turns + 1);
    expect(stageOf(served)).toMatchObject({ stop_reason: reason, steps: turns });
    const { clamped = [] } = served.body.router_metadata!.params as { clamped?: string[] };
    expect(clamped).toEqual(lowered.map((text) => `${text} is above the maximum and was lowered to 32.`));
    expect(served.body.status).toBe('completed');
  }
});
