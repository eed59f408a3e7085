import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const datetime = { type: 'router:datetime' };
const askUser = { type: 'function', name: 'ask_user', parameters: { type: 'object', properties: {} } };
const zone = (timezone: string) => call('router_datetime', { timezone });
const looking: Turn = {
  ...{ reasoning: 'I need the time.', encrypted: 'c2VhbA==', text: 'Let me look.' },
  calls: [zone('Europe/Zurich')],
};
const answering: Turn = { reasoning: 'Now I know.', encrypted: 'c2VhbDI=', text: 'It is late.' };
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

describe('a model that writes much in many turns', () => {
  let strict: ToolLab;
  beforeAll(async () => {
    strict = await openToolLab({ server: { upstream_body_limit: '256KiB' } });
  });
  afterAll(() => strict.close());

  it.each(modes)('fails at upstream_body_limit for all turns together, %s', async (mode) => {
    const turn: Turn = { calls: [call('no_such_tool', { text: 'x'.repeat(100_000) })] };
    strict.always('openai-chat', () => turn);
    const only = { order: ['openai-chat-0'], allow_fallbacks: false };
    const { status, body } = await strict.respond('openai-chat', mode, { tools: [datetime], provider: only });

    expect(status).toBe(502);
    expect(body.error!.message).toMatch(/262144 bytes \(upstream_body_limit\)/);
    expect(strict.takeRequests()).toHaveLength(3); // two turns fit
  });
});

describe.each(wireNames)('a server tool on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = async (request: object, ...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      const served = await lab.respond(wire, mode, { tools: [datetime], ...request });
      return { served, sent: lab.takeRequests().map(({ text }) => text) };
    };

    it('runs between two turns, and the client sees an item of it instead of the call', async () => {
      const { served, sent } = await respond({}, looking, answering);

      expect(served.body).toMatchObject({ status: 'completed', error: null, tools: [] });
      expect(shownItems(served)).toMatchObject([
        { type: 'message', content: [{ text: 'Let me look.' }] },
        { type: 'router:datetime', status: 'completed', datetime: isoTime, timezone: 'Europe/Zurich' },
        { type: 'message', content: [{ text: 'It is late.' }] },
      ]);
      expect(shownItems(served)[1]!.id).toMatch(/^st_/);
      expect(JSON.stringify(served)).not.toContain('function_call');
      expect(sent).toHaveLength(2);
      expect(sent[0]).toContain('router_datetime');
      expect(sent[1]).toMatch(/datetime\\*":\s*\\*"\d{4}-/); // the result
      expect(sent[1]).toContain('Let me look.');
      // The reasoning, unchanged. The package refers to it by its id. Chat completions have no place for it.
      if (wire !== 'openai-chat') expect(sent[1]).toContain(wire === 'ai-sdk' ? '"id":"rs_' : 'c2VhbA==');
    });

    it('counts its calls, and the usage is the sum of the turns', async () => {
      const { served } = await respond({ session_id: `sum-${wire}-${mode}` }, looking, answering);

      expect(served.body.usage).toMatchObject({
        input_tokens: 2 * defaultCounts.input,
        output_tokens: 2 * defaultCounts.output,
        cost: expect.closeTo(2 * turnUsd, 9),
        cost_details: { server_tool_cost: 0 },
        server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1, web_search_requests: 0 },
      });
      expect(stageOf(served)).toMatchObject({
        mode: 'sdk',
        tools: ['router:datetime'],
        steps: 1,
        calls: [{ tool: 'router:datetime', duration_ms: expect.any(Number) }],
      });
      expect(stageOf(served)).not.toHaveProperty('stop_reason');
      const [row] = await rowsOf(lab.gateway.dataDir, `sum-${wire}-${mode}`);
      expect(row).toMatchObject({ outcome: 'completed', cost_nano_usd: Math.round(2 * turnUsd * 1e9) });
    });

    it('runs parallel calls, and responds to them in their order', async () => {
      const calls = [zone('Asia/Tokyo'), zone('America/New_York'), zone('UTC')];
      const { served, sent } = await respond({}, { calls }, answering);

      const zones = ['Asia/Tokyo', 'America/New_York', 'UTC'];
      expect(shownItems(served).slice(0, 3)).toMatchObject(zones.map((timezone) => ({ timezone })));
      const places = zones.map((timezone) =>
        sent[1]!.search(new RegExp(`timezone\\\\*":\\s*\\\\*"${timezone}\\\\*"\\}?[^:]*$`)),
      );
      expect(places.every((place) => place !== 0)).toBe(true);
      expect(sent[1]!.match(/datetime\\*":\s*\\*"\d{4}-/g)).toHaveLength(3);
      expect(served.body.usage?.server_tool_use_details).toMatchObject({ tool_calls_executed: 3 });
    });

    it('ends the response if the model also calls a function of the client', async () => {
      const { served, sent } = await respond(
        { tools: [datetime, askUser] },
        { text: 'Both.', calls: [zone('UTC'), call('ask_user')] },
      );

      expect(sent).toHaveLength(1);
      expect(served.body.status).toBe('completed');
      expect(
        shownItems(served)
          .map(({ type }) => type)
          .sort(),
      ).toEqual(['function_call', 'message', 'router:datetime']);
      expect(stageOf(served)).toMatchObject({ steps: 1, stop_reason: 'client_calls' });

      const output = shownItems(served).filter(({ type }) => type !== 'message');
      const client = output.find(({ type }) => type === 'function_call')!;
      const input = [
        { role: 'user', content: 'What is the time?' },
        ...output,
        { type: 'function_call_output', call_id: client['call_id'], output: 'The user said hello.' },
      ];
      const next = await respond({ tools: [datetime, askUser], input }, answering);
      expect(next.served.body.status).toBe('completed');
      expect(next.sent[0]).toContain('The user said hello.');
      expect(next.sent[0]).toMatch(/datetime\\*":\s*\\*"\d{4}-/);
      expect(next.sent[0]!.match(/router_datetime/g)!.length).toBeGreaterThan(1); // the tool, and the call of it
    });

    it('gives the model an error for an unknown tool and for invalid arguments', async () => {
      const { served, sent } = await respond(
        {},
        { calls: [call('router_magic'), zone('Mars/Olympus'), call('router_datetime', { when: 'now' })] },
        answering,
      );

      expect(served.body.status).toBe('completed');
      expect(shownItems(served)).toMatchObject([{ type: 'message' }]);
      expect(sent[1]).toContain('There is no tool named router_magic.');
      expect(sent[1]).toContain('Mars/Olympus');
      expect(sent[1]).toContain('is not known here');
      expect(served.body.usage?.server_tool_use_details).toMatchObject({
        tool_calls_requested: 3,
        tool_calls_executed: 0,
      });
    });

    it('stops at max_tool_calls: the other calls get an error, and the last turn has no tools', async () => {
      const { served, sent } = await respond(
        { max_tool_calls: 2 },
        { calls: [zone('UTC')] },
        { calls: [zone('Asia/Tokyo'), zone('Asia/Seoul')] },
        answering,
      );

      expect(shownItems(served)).toMatchObject([{ timezone: 'UTC' }, { timezone: 'Asia/Tokyo' }, { type: 'message' }]);
      expect(sent).toHaveLength(3);
      expect(sent[2]).toContain('Tool call limit reached');
      expect(sent[2]).toContain('router_datetime'); // the definition stays
      expect(sent[2]).toMatch(/"tool_choice":\{?"(none|type":"none)"|"mode":"NONE"/);
      expect(stageOf(served)).toMatchObject({ steps: 3, stop_reason: 'max_tool_calls' });
    });

    it('drops the tools if the provider ignores that choice', async () => {
      const { served, sent } = await respond(
        { max_tool_calls: 1 },
        { calls: [zone('UTC')] },
        { calls: [zone('UTC')] },
        answering,
      );

      expect(shownItems(served)).toMatchObject([{ timezone: 'UTC' }, { type: 'message' }]);
      expect(sent).toHaveLength(3);
      expect(sent[2]).not.toMatch(/"tools":\[\{/);
      expect(sent[2]).toContain('Tool call limit reached');
    });

    it('applies tool_choice to the first turn only', async () => {
      const { sent } = await respond({ tool_choice: 'required' }, looking, answering);
      const required = /"tool_choice":(\{"type":"any"|"required")|"mode":"ANY"/;
      expect(sent[0]).toMatch(required);
      expect(sent[1]).not.toMatch(required);

      const forced = await respond({ tool_choice: datetime, tools: [askUser, datetime] }, looking, answering);
      expect(forced.sent[0]).toMatch(
        /"tool_choice":\{[^}]*router_datetime|"allowedFunctionNames":\["router_datetime"\]/,
      );
      expect(forced.sent[1]).not.toMatch(/"tool_choice":\{[^}]*router_datetime|allowedFunctionNames/);
    });

    it('ends as incomplete if the output limit cuts the turn with the call', async () => {
      const { served, sent } = await respond({}, { text: 'Let me', calls: [zone('UTC')], finish: 'length' });

      expect(sent).toHaveLength(1);
      expect(served.body).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ type: 'message' }],
      });
    });

    it('keeps the endpoint of a turn, and falls back within a turn', async () => {
      lab.scriptOther(wire, { text: 'From the other.' });
      const { served } = await respond({}, looking, { fail: { status: 503, message: 'Busy.' } });

      expect(shownItems(served).at(-1)).toMatchObject({ content: [{ text: 'From the other.' }] });
      expect(served.body.router_metadata?.attempts?.map(({ status }) => status)).toEqual([200, 529, 200]);
      expect(lab.upstreams[1].requests.at(-1)!.text).toContain('Let me look.');
    });

    it('fails with what it has if no endpoint has the second turn', async () => {
      const session = newSession();
      const fail = { status: 503, message: 'Busy.' };
      lab.scriptOther(wire, { fail });
      const { served } = await respond({ session_id: session }, looking, { fail });

      if (mode === 'buffered') expect(served.status).toBe(529);
      else {
        expect(served.body).toMatchObject({ status: 'failed', usage: { cost: expect.closeTo(turnUsd, 9) } });
        expect(shownItems(served).map(({ type }) => type)).toEqual(['message', 'router:datetime']);
      }
      const [row] = await rowsOf(lab.gateway.dataDir, session);
      expect(row).toMatchObject({ outcome: 'failed', cost_nano_usd: Math.round(turnUsd * 1e9) });
    });

    it('replays its items as the calls and results that the model saw', async () => {
      const first = await respond({}, { calls: [zone('Asia/Tokyo'), zone('UTC')] }, answering);
      const input = [
        { role: 'user', content: 'What is the time?' },
        ...shownItems(first.served),
        { role: 'user', content: 'And now?' },
      ];
      const { served, sent } = await respond({ input }, answering);

      expect(served.body.status).toBe('completed');
      const [before] = first.sent.slice(1);
      for (const item of shownItems(first.served).slice(0, 2)) {
        const time = String(item['datetime']);
        expect(before).toContain(time);
        expect(sent[0]).toContain(time);
      }
      expect(sent[0]!.match(/router_datetime/g)!.length).toBe(before!.match(/router_datetime/g)!.length);
      expect(served.body.router_metadata?.params).not.toHaveProperty('dropped_fields');
    });
  });
});

describe.each(modes)('the loop, %s', (mode) => {
  const wire = 'openai-chat';
  const respond = async (request: object, ...turns: Turn[]) => {
    lab.takeRequests();
    lab.script(wire, ...turns);
    const served = await lab.respond(wire, mode, { tools: [datetime], ...request });
    return { served, bodies: lab.takeRequests().map(({ body }) => body as Record<string, unknown>) };
  };
  const asking: Turn = { calls: [zone('UTC')] };

  it.each<[condition: object, calls: number]>([
    [{ type: 'step_count_is', step_count: 2 }, 2],
    [{ type: 'has_tool_call', tool_name: 'router:datetime' }, 1],
    [{ type: 'has_tool_call', tool_name: 'router_datetime' }, 1],
    [{ type: 'max_tokens_used', max_tokens: 3 * (defaultCounts.input + defaultCounts.output) }, 3],
    [{ type: 'max_cost', max_cost_in_dollars: 2 * turnUsd }, 2],
    [{ type: 'finish_reason_is', reason: 'tool_calls' }, 1],
  ])('stops after the condition %j: its calls run, and one turn without tools follows', async (condition, calls) => {
    const turns = [...Array.from({ length: calls }, () => asking), answering];
    for (const given of [condition, [{ type: 'step_count_is', step_count: 99 }, condition]]) {
      const { served, bodies } = await respond({ stop_server_tools_when: given, max_tool_calls: 1 }, ...turns);
      expect(shownItems(served)).toHaveLength(calls + 1);
      expect(bodies).toHaveLength(calls + 1);
      expect(bodies.at(-1)).toMatchObject({ tool_choice: 'none', tools: [{}] });
      expect(stageOf(served)).toMatchObject({ stop_reason: (condition as { type: string }).type });
    }
  });

  it('has at most 30 calls without a condition, whatever max_tool_calls says', async () => {
    const calls = Array.from({ length: 40 }, () => zone('UTC'));
    const { served, bodies } = await respond({ max_tool_calls: 500 }, { calls }, answering);

    expect(shownItems(served)).toHaveLength(31);
    expect(bodies).toHaveLength(2);
    expect(served.body.router_metadata?.params?.['clamped']).toHaveLength(1);
  });

  it('has at most 32 turns, the last of them without tools', async () => {
    const turns = Array.from({ length: 30 }, () => asking);
    const condition = { type: 'step_count_is', step_count: 1000 };
    const { served, bodies } = await respond({ stop_server_tools_when: condition }, ...turns, answering);

    expect(bodies).toHaveLength(31);
    expect(bodies.at(-1)).toMatchObject({ tool_choice: 'none' });
    expect(served.body.status).toBe('completed');
    expect(stageOf(served)).toMatchObject({ stop_reason: 'max_turns', steps: 30 });
  });

  it('runs no server tool with max_tool_calls 0, and still offers the functions of the client', async () => {
    const { served, bodies } = await respond({ max_tool_calls: 0, tools: [datetime, askUser] }, answering);
    expect(bodies[0]).toMatchObject({ tools: [{ function: { name: 'ask_user' } }] });
    expect(bodies[0]!['tools']).toHaveLength(1);
    expect(stageOf(served)).toBeUndefined();

    const none = await respond({ max_tool_calls: 0, tool_choice: 'required' }, answering);
    expect(none.bodies[0]).not.toHaveProperty('tools');
    expect(none.bodies[0]).not.toHaveProperty('tool_choice');
  });

  it('gives the model an error for arguments that are no JSON object', async () => {
    for (const text of ['{"timezone": "UT', '[]', 'null']) {
      const message = {
        ...{ role: 'assistant', content: null },
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'router_datetime', arguments: text } }],
      };
      const chunk = { ...message, tool_calls: [{ index: 0, ...message.tool_calls[0] }] };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const head = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', usage };
      const ended = { index: 0, finish_reason: 'tool_calls' };
      lab.upstreams[0].respond(({ body }) =>
        (body as { stream?: boolean }).stream
          ? sse([{ ...head, choices: [{ ...ended, delta: chunk }] }], { done: true })
          : json({ ...head, choices: [{ ...ended, message }] }),
      );
      const { served, bodies } = await respond({}, answering);
      expect(served.body.status).toBe('completed');
      expect(JSON.stringify(bodies[1])).toContain('not a JSON object');
    }
  });

  it('limits a choice of allowed tools in every turn, and forces a call only in the first', async () => {
    const choice = { type: 'allowed_tools', mode: 'required', tools: [datetime] };
    const { bodies } = await respond({ tool_choice: choice, tools: [askUser, datetime] }, asking, answering);

    for (const body of bodies) expect(body['tools']).toMatchObject([{ function: { name: 'router_datetime' } }]);
    expect(bodies.map((body) => body['tool_choice'])).toEqual(['required', 'auto']);
  });

  it.each<[string, object, string, string]>([
    [
      'a tool that the gateway does not have',
      { tools: [{ type: 'router:weather' }] },
      'tools[0].type',
      'names no tool',
    ],
    ['a tool twice', { tools: [datetime, askUser, datetime] }, 'tools[2].type', 'repeats'],
    [
      'a function with the name of a server tool',
      { tools: [datetime, { ...askUser, name: 'router_datetime' }] },
      'tools[0].type',
      'clashes with your function',
    ],
    [
      'a wrong parameter',
      { tools: [{ ...datetime, parameters: { timezone: 'Mars/Olympus' } }] },
      'tools[0].parameters.timezone',
      'IANA',
    ],
    [
      'an unknown parameter',
      { tools: [{ ...datetime, parameters: { zone: 'UTC' } }] },
      'tools[0].parameters.zone',
      'known',
    ],
    ['a negative limit', { max_tool_calls: -1 }, 'max_tool_calls', '0 or more'],
    ['no condition', { stop_server_tools_when: [] }, 'stop_server_tools_when', 'must not be empty'],
  ])('rejects %s', async (_, request, path, says) => {
    const { served, bodies } = await respond(request);

    expect(served.status).toBe(400);
    expect(served.body.error?.metadata?.['issues']).toMatchObject([{ path, message: expect.stringContaining(says) }]);
    expect(bodies).toEqual([]);
  });

  it('uses the time zone of the request if the call names none', async () => {
    const tools = [{ ...datetime, parameters: { timezone: 'Asia/Kolkata' } }];
    const { served } = await respond({ tools }, { calls: [call('router_datetime')] }, answering);

    expect(shownItems(served)[0]).toMatchObject({
      timezone: 'Asia/Kolkata',
      datetime: expect.stringMatching(/\+05:30$/),
    });
  });
});
