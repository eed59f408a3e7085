import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const datetime = { type: 'router:datetime' };
const askUser = { type: 'function', name: 'ask_user', parameters: { type: 'object', properties: {} } };
const zone = (timezone: string) => call('router_datetime', { timezone });
const looking: Turn = {
  reasoning: 'I need the time.',
  encrypted: 'c2VhbA==',
  text: 'Let me look.',
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

it('requests encrypted reasoning, which the next turn needs, if the model reasons', async () => {
  const reasoning = { effort: 'low' };
  lab.takeRequests();
  lab.script('openai-responses', looking, ...Array.from({ length: 6 }, () => answering));
  await lab.respond('openai-responses', 'buffered', { tools: [datetime], reasoning });
  await lab.respond('openai-responses', 'buffered', { tools: [datetime] }); // unknown whether it reasons
  await lab.respond('openai-responses', 'buffered', { reasoning }); // the client has a field for it
  const said = { model: 'acme/openai-responses', messages: [{ role: 'user', content: 'Hi' }] };
  const provider = { order: ['openai-responses-0'] };
  await lab.gateway.post('/chat/completions', { ...said, provider, reasoning });
  await lab.gateway.post('/chat/completions', { ...said, provider, reasoning: { ...reasoning, exclude: true } });
  await lab.gateway.post('/messages', { ...said, provider, output_config: reasoning });

  const include = ['reasoning.encrypted_content'];
  const sent = lab.takeRequests().map(({ text }) => JSON.parse(text) as { include?: string[] });
  expect(sent.map((body) => body.include)).toEqual([
    include,
    include,
    undefined,
    undefined,
    include,
    undefined,
    include,
  ]);
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

  it('runs no server tool with max_tool_calls 0, and still offers the functions of the client', async () => {
    const { served, bodies } = await respond({ max_tool_calls: 0, tools: [datetime, askUser] }, answering);
    expect(bodies[0]).toMatchObject({ tools: [{ function: { name: 'ask_user' } }] });
    expect(bodies[0]!['tools']).toHaveLength(1);
    expect(stageOf(served)).toBeUndefined();

    const none = await respond({ max_tool_calls: 0, tool_choice: 'required' }, answering);
    expect(none.bodies[0]).not.toHaveProperty('tools');
    expect(none.bodies[0]).not.toHaveProperty('tool_choice');
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

describe.each(wireNames)('calls of several turns with the same id on %s', (wire) => {
  it.each(modes)('get different ids, %s', async (mode) => {
    lab.takeRequests();
    const looking: Turn = { calls: [call('router_datetime')] };
    lab.script(wire, looking, looking, looking, { text: 'Done.' });
    const served = await lab.respond(wire, mode, { tools: [{ type: 'router:datetime' }] });

    const last = readSent(wire, lab.takeRequests().at(-1)!);
    const ids = last.calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(last.results.map(({ id }) => id)).toEqual(ids);
    const items = served.body.output.filter(({ type }) => type === 'router:datetime');
    expect(new Set(items.map((item) => item['call_id'])).size).toBe(3);
  });

  it.each(modes)('also differ from those of earlier requests, %s', async (mode) => {
    lab.takeRequests();
    const looking: Turn = { calls: [call('router_datetime')] };
    lab.script(wire, looking, { text: 'Done.' }, looking, { text: 'Done.' });
    const user = { type: 'message', role: 'user', content: 'What is the time?' };
    const first = await lab.respond(wire, mode, { tools: [datetime], input: [user] });
    const second = await lab.respond(wire, mode, { tools: [datetime], input: [user, ...first.body.output, user] });

    const last = readSent(wire, lab.takeRequests().at(-1)!);
    const ids = last.calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(last.results.map(({ id }) => id)).toEqual(ids);
    const items = [first, second].flatMap(({ body }) => body.output.filter(({ type }) => type === 'router:datetime'));
    expect(new Set(items.map((item) => item['call_id'])).size).toBe(2);
  });

  it('of a tool and of a function of the client get different ids when they are replayed', async () => {
    lab.takeRequests();
    lab.script(wire, { text: 'Done.' });
    const time = {
      type: 'router:datetime',
      id: 'st_1',
      status: 'completed',
      call_id: 'c0',
      datetime: '2026',
      timezone: 'UTC',
    };
    const asked = { type: 'function_call', call_id: 'c0', name: 'ask_user', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c0', output: '"yes"' };
    const user = { type: 'message', role: 'user', content: 'What is the time?' };
    const input = [user, time, asked, output];
    const { status } = await lab.respond(wire, 'buffered', { tools: [datetime, askUser], input });

    expect(status).toBe(200);
    const { calls, results } = readSent(wire, lab.takeRequests().at(-1)!);
    expect(calls.map(({ name }) => name)).toEqual(['router_datetime', 'ask_user']);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    const resultOf = new Map(results.map(({ id, value }) => [id, JSON.stringify(value)]));
    expect(resultOf.get(calls[0]!.id)).toContain('2026');
    expect(resultOf.get(calls[1]!.id)).toContain('yes');
  });
});
