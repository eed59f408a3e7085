import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import { newSession, readRows, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { analysis, fusing, panelItemOf, type PanelRole, type PanelScript, playPanel, roleOf } from './fusion-script.ts';
import { readSent } from './sent.ts';

/* Fusion on every wire. The models of a panel run at the same time, so each turn is scripted by its request. */

const panel = ['acme/openai-chat', 'acme/gemini', 'acme/anthropic-messages'];
const turnTokens = defaultCounts.input + defaultCounts.output;
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({
    routers: {
      fusion: {
        panels: {
          quality: { models: panel.slice(0, 2), model: 'acme/openai-responses' },
          general_fast: { models: ['acme/gemini'], model: 'acme/anthropic-messages' },
          general_budget: { models: ['acme/none'], model: 'acme/none' },
        },
        model_timeout_ms: 20_000,
      },
    },
  });
});
afterAll(() => lab.close());
afterEach(() => void seen.splice(0));

/** The requests at both servers, in the order of their arrival. */
const seen: ScriptedRequest[] = [];
const takeSeen = () => seen.splice(0);

const play = (script: PanelScript = {}): void => playPanel(lab, seen, script);

const tools = [{ type: 'router:fusion', parameters: { analysis_models: panel, tools: [] } }];

interface PanelEvent {
  type: string;
  model?: string;
  delta?: string;
  content?: string;
  [field: string]: unknown;
}
const eventsOf = ({ events }: Served): PanelEvent[] =>
  (events as unknown as PanelEvent[]).filter(({ type }) => type.startsWith('response.fusion_call.'));

/** The requests at both servers since the last call of `takeSeen`. */
const requestsOf = (role: PanelRole): ScriptedRequest[] => takeSeen().filter((request) => roleOf(request) === role);

describe.each(wireNames)('fusion on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    it('lets a panel respond, compares the responses, and gives the result to the model', async () => {
      play();
      const session = newSession();
      const served = await lab.respond(wire, mode, { tools, session_id: session });

      expect(served.status, JSON.stringify(served.body)).toBe(200);
      expect(served.body).toMatchObject({ status: 'completed', model: `acme/${wire}` });
      expect(panelItemOf(served)).toMatchObject({
        status: 'completed',
        analysis,
        responses: panel.map((model) => ({ model, content: `Blue, says ${model.slice(5)}.` })),
        arguments: JSON.stringify({ prompt: 'Why is the sky blue?' }),
      });
      expect(panelItemOf(served)).not.toHaveProperty('failed_models');
      expect(shownItems(served).at(-1)).toMatchObject({ type: 'message', content: [{ text: 'It scatters.' }] });
      expect(served.body.usage).toMatchObject({ total_tokens: 6 * turnTokens });
      expect(served.body.usage!.cost).toBeCloseTo(6 * turnUsd, 12);
      expect(served.body.router_metadata!.params!['inner_generations']).toHaveLength(4);
      expect(stageOf(served)).toMatchObject({ steps: 1, calls: [{ tool: 'router:fusion' }] });

      const sent = takeSeen();
      const members = sent.filter((request) => roleOf(request) === 'member');
      expect(members).toHaveLength(3);
      for (const member of members) expect(member.text).toContain('Why is the sky blue?');
      const last = readSent(wire, sent.at(-1)!);
      expect(last.results.at(-1)!.value).toMatchObject({ status: 'ok', analysis, responses: [{}, {}, {}] });
      const [row] = await rowsOf(lab.gateway.dataDir, session);
      expect(row).toMatchObject({ outcome: 'completed', cost_nano_usd: Math.round(2 * turnUsd * 1e9) });
      const inner = readRows(lab.gateway.dataDir).filter((each) => each['parent_id'] === row!.id);
      expect(inner).toHaveLength(4);
    });

    it('reports a failed model, and goes on with the others', async () => {
      play({
        member: (from) => (from === 'gemini' ? { fail: { status: 500, message: 'Out of order.' } } : { text: 'Blue.' }),
      });
      const served = await lab.respond(wire, mode, { tools });

      expect(served.body.status).toBe('completed');
      expect(panelItemOf(served)).toMatchObject({
        responses: [{ model: panel[0] }, { model: panel[2] }],
        failed_models: [{ model: 'acme/gemini', error: expect.stringContaining('Out of order.'), status_code: 502 }],
        analysis,
      });
    });

    it.each<[string, Turn, string, number]>([
      ['fail', { fail: { status: 500, message: 'Out of order.' } }, 'all_panels_failed', 502],
      ['are rate-limited', { fail: { status: 429, message: 'Slow down.' } }, 'rate_limited', 429],
    ])('goes on without responses if all models %s', async (_, turn, reason, status) => {
      play({ member: () => turn });
      const served = await lab.respond(wire, mode, { tools });

      expect(served.body).toMatchObject({ status: 'completed' });
      expect(panelItemOf(served)).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('No model of the panel has responded.'),
        failure_reason: reason,
        failed_models: panel.map((model) => ({ model, status_code: status })),
      });
      const last = readSent(wire, takeSeen().at(-1)!);
      expect(last.results.at(-1)!.value).toMatchObject({ status: 'error', failure_reason: reason });
      expect(shownItems(served).at(-1)).toMatchObject({ type: 'message' });
    });

    it.each<[string, Turn, string]>([
      ['prose', { text: 'They agree.' }, 'judge_not_valid_json'],
      ['another shape', { text: '{"consensus": "yes"}' }, 'judge_schema_mismatch'],
      ['an error', { fail: { status: 500, message: 'Out of order.' } }, 'judge_upstream_error'],
    ])('goes on without an analysis if the analyst returns %s', async (_, analyst, reason) => {
      play({ analyst });
      const served = await lab.respond(wire, mode, { tools });

      expect(panelItemOf(served)).toMatchObject({ failure_reason: reason, responses: [{}, {}, {}] });
      expect(panelItemOf(served)).not.toHaveProperty('analysis');
      const { value } = readSent(wire, takeSeen().at(-1)!).results.at(-1)!;
      expect(value).toMatchObject({ status: 'ok' });
      expect(value).not.toHaveProperty('analysis');
      expect(value).not.toHaveProperty('failure_reason');
    });

    it('runs once in a response', async () => {
      play({ outer: { calls: [fusing.calls![0]!, fusing.calls![0]!] } });
      const served = await lab.respond(wire, mode, { tools });

      const items = shownItems(served).filter(({ type }) => type === 'router:fusion');
      expect(items.map(({ failure_reason: reason }) => reason)).toEqual([undefined, 'fusion_invocation_capped']);
      expect(requestsOf('member')).toHaveLength(3);
    });

    it('sees the last message of the user if the model writes no prompt', async () => {
      play({ outer: { calls: [call('router_fusion')] } });
      const input = [
        { role: 'user', content: 'First.' },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: [{ type: 'input_text', text: 'Why is grass green?' }] },
      ];
      const served = await lab.respond(wire, mode, { tools, input });

      expect(panelItemOf(served)).toMatchObject({ analysis });
      for (const member of requestsOf('member')) {
        expect(member.text).toContain('Why is grass green?');
        expect(member.text).not.toContain('First.');
      }
    });

    it('repeats the result in a later request', async () => {
      play();
      const served = await lab.respond(wire, mode, { tools });
      takeSeen();
      const input = [{ role: 'user', content: 'Why?' }, ...served.body.output, { role: 'user', content: 'Go on.' }];
      const next = await lab.respond(wire, mode, { tools, input });

      expect(next.body.status, JSON.stringify(next.body)).toBe('completed');
      const [first] = takeSeen();
      const { calls, results } = readSent(wire, first!);
      expect(calls.at(-1)!.value).toEqual({ prompt: 'Why is the sky blue?' });
      expect(results.at(-1)!.value).toMatchObject({ status: 'ok', analysis, responses: [{}, {}, {}] });
    });
  });

  it('streams the responses while they arrive', async () => {
    play({
      member: (from) =>
        from === 'gemini'
          ? { fail: { status: 429, message: 'Slow down.' } }
          : { reasoning: 'Hm.', text: 'It is blue.' },
    });
    const served = await lab.respond(wire, 'streamed', { tools });

    const events = eventsOf(served);
    const types = events.map(({ type }) => type.replace('response.fusion_call.', ''));
    expect(types.slice(0, 4)).toEqual(['in_progress', 'panel.added', 'panel.added', 'panel.added']);
    expect(types.slice(-3)).toEqual(['analysis.in_progress', 'analysis.completed', 'completed']);
    const item = panelItemOf(served)!;
    for (const event of events) expect(event).toMatchObject({ item_id: item.id, output_index: expect.any(Number) });
    for (const model of [panel[0], panel[2]]) {
      const own = events.filter((event) => event.model === model);
      const deltas = own.filter(({ type }) => type.endsWith('panel.delta'));
      expect(deltas.length).toBeGreaterThan(1);
      expect(deltas.map(({ delta }) => delta).join('')).toBe('It is blue.');
      expect(own.at(-1)).toMatchObject({ type: 'response.fusion_call.panel.completed', content: 'It is blue.' });
      expect(own.some(({ type }) => type.endsWith('panel.reasoning.delta'))).toBe(true);
    }
    expect(events.find(({ type }) => type.endsWith('panel.failed'))).toMatchObject({
      model: 'acme/gemini',
      error: expect.any(String),
      status_code: 429,
    });
    expect(events.at(-3)).toMatchObject({ analyst_model: `acme/${wire}`, judge_model: `acme/${wire}` });
    expect(events.at(-2)).toMatchObject({ analysis });
  });
});

describe.each(modes)('the parameters of fusion, %s', (mode) => {
  const respond = (parameters: object, request: object = {}) =>
    lab.respond('openai-chat', mode, { tools: [{ type: 'router:fusion', parameters }], ...request });

  it('set the models, and the limits of their requests', async () => {
    play();
    const served = await respond({
      analysis_models: ['acme/gemini'],
      model: 'acme/anthropic-messages',
      tools: [],
      max_completion_tokens: 777,
      temperature: 0.7,
    });

    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: 'acme/gemini' }], analysis });
    const sent = takeSeen();
    const member = readSent('gemini', sent.find((request) => roleOf(request) === 'member')!);
    expect(member.settings).toMatchObject({ temperature: 0.7, maxOutputTokens: 777 });
    const analyst = readSent('anthropic-messages', sent.find((request) => roleOf(request) === 'analyst')!);
    expect(analyst.settings).toMatchObject({ temperature: 0, max_tokens: 777 });
    expect(analyst.format).toMatchObject({ required: Object.keys(analysis) });
  });

  it('give the panel 16,000 tokens, and the fetch, which this gateway has', async () => {
    play();
    await respond({ analysis_models: ['acme/openai-chat'] });
    const sent = takeSeen();
    const member = readSent('openai-chat', sent.find((request) => roleOf(request) === 'member')!);
    expect(member.settings).toMatchObject({ max_completion_tokens: 16_000 });
    expect(member.tools).toEqual(['router_web_fetch']);
  });

  it('limit the calls of each model, which must then respond', async () => {
    const looking: Turn = { calls: [call('router_datetime')] };
    play({
      member: (from, request) => (readSent(from, request).choice === 'none' ? { text: 'Noon.' } : looking),
    });
    const served = await respond({
      analysis_models: ['acme/gemini'],
      tools: [{ type: 'router:datetime' }],
      max_tool_calls: 2,
    });

    expect(panelItemOf(served)).toMatchObject({ responses: [{ content: 'Noon.' }] });
    expect(requestsOf('member')).toHaveLength(3);
  });

  it('use the panel of the operator for a preset, and the calling model if that of the preset has no route', async () => {
    play();
    const fast = await respond({ preset: 'general-fast', tools: [] });
    expect(panelItemOf(fast)).toMatchObject({ responses: [{ model: 'acme/gemini' }] });
    const [analyst] = requestsOf('analyst');
    expect(analyst!.path).toContain('/messages');

    const none = await respond({ preset: 'general-budget', tools: [] });
    expect(panelItemOf(none)).toMatchObject({
      failure_reason: 'invalid_model',
      failed_models: [{ model: 'acme/none', status_code: 400 }],
    });
    expect(readSent('openai-chat', takeSeen().at(-1)!).results[0]!.value).toMatchObject({
      failure_reason: 'all_panels_failed',
    });
  });

  it.each([
    [{ analysis_models: [' '] }, 'tools[0].parameters.analysis_models[0]'],
    [{ max_completion_tokens: 0 }, 'tools[0].parameters.max_completion_tokens'],
    [{ temperature: 3 }, 'tools[0].parameters.temperature'],
    [{ tools: [{ type: 'router:fusion' }] }, 'tools[0].parameters.tools[0].type'],
    [{ tools: [{ type: 'function', name: 'f' }] }, 'tools[0].parameters.tools[0].type'],
    [
      { tools: [{ type: 'router:web_fetch', parameters: { max_uses: -1 } }] },
      'tools[0].parameters.tools[0].parameters.max_uses',
    ],
  ])('are a 400 if they are wrong: %j', async (parameters, path) => {
    const { status, body } = await respond(parameters);
    expect(status).toBe(400);
    expect(body.error!.metadata).toMatchObject({ issues: [{ path }] });
  });

  it('of the panel include the restrictions of the provider preferences', async () => {
    play();
    const served = await respond(
      { analysis_models: panel, tools: [] },
      { provider: { ignore: ['gemini-0', 'gemini-1'] } },
    );
    expect(panelItemOf(served)).toMatchObject({ failed_models: [{ model: 'acme/gemini' }], responses: [{}, {}] });
  });
});

describe.each(modes)('the slugs and the plugin of fusion, %s', (mode) => {
  const respond = (request: object, options = {}) =>
    lab.respond('openai-chat', mode, { provider: {}, ...request }, options);
  const toolsOff = { id: 'fusion', tools: [] };

  it('route to the model of the panel, which sees the tool', async () => {
    play();
    const served = await respond({ model: 'router/fusion', plugins: [toolsOff] });

    expect(served.body).toMatchObject({ status: 'completed', model: 'acme/openai-responses' });
    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: panel[0] }, { model: panel[1] }], analysis });
    expect(served.body.router_metadata).toMatchObject({
      requested: 'router/fusion',
      strategy: 'fusion',
      pipeline: [
        {
          type: 'router',
          name: 'fusion',
          data: { resolved_to: 'acme/openai-responses', analysis_models: panel.slice(0, 2) },
        },
        { type: 'server_tools' },
      ],
    });
    const [outer] = takeSeen();
    expect(readSent('openai-responses', outer!)).toMatchObject({ tools: ['router_fusion'], choice: 'auto' });
  });

  it('respond at once if the model does not call the tool', async () => {
    play({ outer: { text: 'Hello.' } });
    const served = await respond({ model: 'router/fusion' });
    expect(served.body.output).toMatchObject([{ type: 'message' }]);
    expect(takeSeen()).toHaveLength(1);
  });

  it('imply a preset', async () => {
    play();
    const served = await respond({ model: 'router/fusion-flash:nitro', plugins: [{ ...toolsOff, enabled: false }] });
    expect(served.body.model).toBe('acme/anthropic-messages');
    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: 'acme/gemini' }] });
  });

  it('take the models of the plugin', async () => {
    play();
    const plugin = { ...toolsOff, model: 'acme/gemini', analysis_models: ['acme/openai-chat'] };
    const served = await respond({
      model: undefined,
      models: ['router/fusion', 'acme/openai-chat'],
      plugins: [plugin],
    });
    expect(served.body.model).toBe('acme/gemini');
    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: 'acme/openai-chat' }] });
    const [analyst] = requestsOf('analyst');
    expect(analyst!.path).toContain('enerateContent');
  });

  it('force a call with `tool_choice`', async () => {
    play();
    const served = await respond({ model: 'router/fusion', plugins: [toolsOff], tool_choice: 'required' });
    expect(panelItemOf(served)).toMatchObject({ analysis });
    expect(readSent('openai-responses', takeSeen()[0]!).choice).toBe('required');
  });

  it('are a 404 if no model of the panel has a route', async () => {
    const served = await respond({ model: 'router/fusion', plugins: [{ id: 'fusion', preset: 'general-budget' }] });
    expect(served.status).toBe(404);
    expect(served.body.error!.message).toContain('routers.fusion.panels');
    const named = await respond({ model: 'router/fusion', plugins: [{ id: 'fusion', model: 'acme/none' }] });
    expect(named.status).toBe(404);
    expect(named.body.error!.message).toContain('acme/none');
  });

  it('let the plugin add the tool to another model', async () => {
    play();
    const served = await respond({ model: 'acme/gemini', plugins: [toolsOff] });
    expect(served.body.model).toBe('acme/gemini');
    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: panel[0] }, { model: panel[1] }] });
    const [analyst] = requestsOf('analyst');
    expect(analyst!.path).toContain('/responses'); // the model of the panel
    expect(analyst!.headers['x-router-fusion-depth']).toBe('1'); // it can be a gateway
    expect(served.body.router_metadata!.pipeline).toContainEqual({
      type: 'plugin',
      name: 'fusion',
      data: { tools: [], model: 'acme/openai-responses' },
    });
  });

  it('do nothing if the plugin is off', async () => {
    play({ outer: { text: 'Hello.' } });
    await respond({ model: 'acme/gemini', plugins: [{ id: 'fusion', enabled: false }] });
    const [sent] = takeSeen();
    expect(readSent('gemini', sent!).tools).toEqual([]);
  });

  it('reject wrong tools of the plugin', async () => {
    const served = await respond({
      model: 'router/fusion',
      plugins: [{ id: 'fusion', tools: [{ type: 'router:none' }] }],
    });
    expect(served.status).toBe(400);
    expect(served.body.error!.metadata).toMatchObject({ issues: [{ path: 'plugins[0].tools[0].type' }] });
  });

  it('do not run a panel inside a panel', async () => {
    play({ member: () => ({ text: 'Plain.' }) });
    const plugin = { ...toolsOff, analysis_models: ['router/fusion'], model: 'acme/gemini' };
    const served = await respond({ model: 'acme/gemini', plugins: [plugin] });
    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: 'router/fusion', content: 'Plain.' }] });
  });

  it('do not run a panel for a request of another gateway that does', async () => {
    lab.answer((request) => {
      seen.push(request);
      return { text: 'Plain.' };
    });
    const headers = { 'x-router-fusion-depth': '1' };
    const served = await respond({ model: 'router/fusion', tool_choice: { type: 'router:fusion' } }, { headers });
    expect(served.body.status, JSON.stringify(served.body)).toBe('completed');
    expect(served.body.router_metadata!.pipeline).toContainEqual({
      type: 'server_tools',
      name: 'depth-guard',
      data: { unavailable: ['router:fusion'] },
    });
    const [sent] = takeSeen();
    expect(readSent('openai-responses', sent!)).toMatchObject({ tools: [], choice: 'auto' });
    expect(sent!.headers['x-router-fusion-depth']).toBe('1');
  });
});
