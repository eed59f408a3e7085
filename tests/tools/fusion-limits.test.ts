import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { newSession, readRows, rowsOf } from '../api/ledger-rows.ts';
import { main, manage } from '../api/manage.ts';
import type { Turn } from '../clients/turn.ts';
import { analysis, panelItemOf, type PanelScript, playPanel, roleOf } from './fusion-script.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, type WireName } from './lab.ts';
import { readSent } from './sent.ts';
import { patient } from '../../src/testing/patience.ts';

/* Fusion at its limits: money, time, bytes, guardrails, disconnects. */

const models: WireName[] = ['openai-chat', 'gemini', 'anthropic-messages'];
const panel = models.map((wire) => `acme/${wire}`);
const email = 'jane@example.com';

let lab: ToolLab;
let engine: ScriptedUpstream;
const seen: ScriptedRequest[] = [];
const keys = { redact: '', block: '', silence: '' };

beforeAll(async () => {
  engine = await startUpstream();
  engine.always(json({ results: [{ url: 'https://sky.example/', title: 'The sky', text: 'It scatters.' }] }));
  lab = await openToolLab(
    {
      routers: { fusion: { panels: {}, model_timeout_ms: patient(4000) } },
      tools: {
        web_search: { engines: { exa: { driver: 'exa', base_url: engine.url, api_key: 'engine-key-of-a-test' } } },
      },
    },
    {
      'openai-responses': { native_search: false },
      'anthropic-messages': { native_search: false },
      gemini: { native_search: false },
    },
  );
  const ask = manage(() => lab.gateway);
  const filters = [
    ['redact', 'redact', ['input', 'output']],
    ['block', 'block', ['input']],
    ['silence', 'block', ['output']],
  ] as const;
  for (const [name, action, sides] of filters) {
    const { body: made } = await ask('POST', '/keys', { name, workspace_id: main });
    const filter = { slug: 'email', action, apply_to: sides };
    const rules = { name, workspace_id: main, content_filter_builtins: [filter] };
    const { body: guardrail } = await ask('POST', '/guardrails', rules);
    const hashes = { key_hashes: [made.data.hash] };
    expect((await ask('POST', `/guardrails/${guardrail.data.id}/assignments/keys`, hashes)).status).toBe(200);
    keys[name] = made.key;
  }
});
afterAll(() => Promise.all([lab.close(), engine.close()]));
afterEach(() => void seen.splice(0));

const play = (script: PanelScript = {}): void => playPanel(lab, seen, script);
const toolsOf = (parameters: object) => [{ type: 'router:fusion', parameters }];
const tools = toolsOf({ analysis_models: panel, tools: [] });
const membersSeen = () => seen.filter((request) => roleOf(request) === 'member');

describe.each(modes)('a panel, %s', (mode) => {
  const respond = (request: object = {}, options = {}) =>
    lab.respond('openai-chat', mode, { tools, ...request }, options);

  it('fails with insufficient_credits if its requests exceed the limit of the key, and the response goes on', async () => {
    play();
    const made = await lab.gateway.post(
      '/keys',
      { name: 'limited', limit: 0.05, workspace_id: main },
      { key: lab.gateway.managementKey },
    );
    const { key } = (await made.json()) as { key: string };
    const served = await respond({ max_output_tokens: 10 }, { key });

    expect(served.body.status, JSON.stringify(served.body.error)).toBe('completed');
    expect(panelItemOf(served)).toMatchObject({
      failure_reason: 'insufficient_credits',
      failed_models: panel.map((model) => ({ model, status_code: 402 })),
    });
    expect(membersSeen()).toEqual([]);
  });

  it('goes on without a model that is too slow', async () => {
    play({ member: (wire) => (wire === 'gemini' ? { text: 'Well, ', after: 'silence' } : { text: 'Blue.' }) });
    const served = await respond();

    expect(panelItemOf(served)).toMatchObject({
      responses: [{ model: panel[0] }, { model: panel[2] }],
      failed_models: [
        { model: 'acme/gemini', error: expect.stringContaining(`${patient(4000)} ms`), status_code: 408 },
      ],
      analysis,
    });
    const slow = membersSeen().find(({ path }) => path.includes('enerateContent'));
    expect(await slow!.closed).toBe('aborted');
  });

  it('stops a model that writes megabytes', async () => {
    const flood = `${'x'.repeat(9999)} `.repeat(300);
    play({ member: (wire) => ({ text: wire === 'gemini' ? flood : 'Blue.' }) });
    const served = await respond();

    expect(served.body.status).toBe('completed');
    expect(panelItemOf(served)).toMatchObject({
      responses: [{ model: panel[0] }, { model: panel[2] }],
      failed_models: [{ model: 'acme/gemini', error: expect.stringContaining('longer than') }],
    });
    expect(JSON.stringify([served.body, served.events]).length).toBeLessThan(2_000_000);
  });

  it('has room for eight long responses', async () => {
    const long = `${'"'.repeat(3999)}\n`.repeat(10); // 80,000 bytes as JSON
    play({ member: () => ({ text: long }) });
    const eight = Array.from({ length: 8 }, (_, index) => panel[index % 3]!);
    const served = await respond({ tools: toolsOf({ analysis_models: eight, tools: [] }) });

    const { responses, analysis: compared } = panelItemOf(served) as { responses?: unknown[]; analysis?: unknown };
    expect(responses).toHaveLength(8);
    expect(compared).toEqual(analysis);
  });

  it('without a response in time to the analysis has none', async () => {
    play({ analyst: { text: '{', after: 'silence' } });
    const served = await respond();
    expect(panelItemOf(served)).toMatchObject({ failure_reason: 'judge_upstream_error', responses: [{}, {}, {}] });
  });

  it('searches, counts the searches, and names the pages', async () => {
    const searching: Turn = { calls: [call('router_web_search', { query: 'sky' })] };
    const citing: Turn = { text: 'Blue, see [sky.example](https://sky.example/).' };
    play({
      member: (wire, request) => (readSent(wire, request).results.length > 0 ? citing : searching),
    });
    const served = await respond({ tools: toolsOf({ analysis_models: panel.slice(0, 2) }) });

    expect(panelItemOf(served)).toMatchObject({ sources: [{ url: 'https://sky.example/', title: 'The sky' }] });
    expect(served.body.usage).toMatchObject({ server_tool_use: { web_search_requests: 2 } });
    const [member] = membersSeen();
    expect(readSent('openai-chat', membersSeen().find(({ path }) => path.includes('completions'))!).tools).toEqual([
      'router_web_search',
      'router_web_fetch',
    ]);
    expect(member).toBeDefined();
  });

  it('has the filters of a guardrail on what its models read and write', async () => {
    play({
      outer: { calls: [call('router_fusion', { prompt: `Who is ${email}?` })] },
      member: (wire) => ({ reasoning: `Hm, ${email}.`, text: `${wire} knows ${email} well.` }),
      analyst: { text: JSON.stringify({ ...analysis, consensus: [`It is ${email}.`] }) },
    });
    const served = await respond({}, { key: keys.redact });

    expect(served.body.status, JSON.stringify(served.body)).toBe('completed');
    expect(JSON.stringify([served.body, served.events])).not.toMatch(/\bjane\b/);
    expect(panelItemOf(served)).toMatchObject({
      responses: models.map((wire) => ({ content: `${wire} knows [EMAIL] well.` })),
      analysis: { consensus: ['It is [EMAIL].'] },
    });
    for (const member of membersSeen()) expect(member.text).toContain('Who is [EMAIL]?');
    if (mode === 'buffered') return;
    for (const model of panel) {
      const deltas = (served.events as unknown as { type: string; model?: string; delta?: string }[]).filter(
        (event) => event.type === 'response.fusion_call.panel.delta' && event.model === model,
      );
      expect(deltas.map(({ delta }) => delta).join('')).toBe(`${model.slice(5)} knows [EMAIL] well.`);
    }
  });

  it('fails if a guardrail blocks its question', async () => {
    play({ outer: { calls: [call('router_fusion', { prompt: `Who is ${email}?` })] } });
    const served = await respond({}, { key: keys.block });
    expect(membersSeen()).toEqual([]);
    expect(panelItemOf(served)).toMatchObject({
      failure_reason: 'all_panels_failed',
      failed_models: panel.map((model) => ({ model, status_code: 403 })),
    });
    expect(served.body.status).toBe('completed');
  });

  it('ends the response if a guardrail blocks what one of its models writes', async () => {
    play({ member: (wire) => ({ text: wire === 'gemini' ? `Ask ${email} now.` : 'Blue.' }) });
    const served = await respond({}, { key: keys.silence });
    if (mode === 'buffered') expect(served.status).toBe(403);
    else expect(served.body).toMatchObject({ status: 'failed', error_type: 'permission_denied' });
    expect(served.body.error!.message).toContain('Response blocked by content filter');
    expect(JSON.stringify([served.body, served.events])).not.toMatch(/\bjane\b/);
  });

  it.each<[string, PanelScript, number]>([
    ['the panel', { member: () => ({ text: 'Well, ', after: 'silence' }) }, 3],
    ['the analysis', { analyst: { text: '{', after: 'silence' } }, 1],
  ])('stops with %s if the client disconnects', async (_, script, silent) => {
    play(script);
    const session = newSession();
    const client = new AbortController();
    const body = {
      model: 'acme/openai-chat',
      input: 'Why?',
      tools,
      session_id: session,
      stream: mode === 'streamed',
      provider: { order: ['openai-chat-0'] },
    };
    const reading = lab.gateway
      .post('/responses', body, { signal: client.signal })
      .then((response) => response.text())
      .catch(() => 'aborted');
    const role = silent === 3 ? 'member' : 'analyst';
    const waiting = await vi.waitFor(
      () => {
        const found = seen.filter((request) => roleOf(request) === role);
        expect(found).toHaveLength(silent);
        return found;
      },
      { interval: 10 },
    );
    client.abort();

    expect(await reading).toBe('aborted');
    for (const request of waiting) expect(await request.closed).toBe('aborted');
    const [row] = await rowsOf(lab.gateway.dataDir, session);
    expect(row).toMatchObject({ outcome: 'cancelled' });
    const countCancelled = () =>
      readRows(lab.gateway.dataDir).filter(
        ({ parent_id: parent, outcome }) => parent === row!.id && outcome === 'cancelled',
      ).length;
    await expect.poll(countCancelled).toBe(silent);
    expect(seen.filter((request) => roleOf(request) === 'outer')).toHaveLength(1);
  });
});

describe('a workspace', () => {
  const ask = manage(() => lab.gateway);
  let made = 0;

  async function openWorkspace(settings: object): Promise<string> {
    const slug = `fusion-${++made}`;
    const { status, body } = await ask('POST', '/workspaces', { name: slug, slug, ...settings });
    expect(status, JSON.stringify(body)).toBe(201);
    const { body: key } = await ask('POST', '/keys', { name: slug, workspace_id: body.data.id });
    return key.key;
  }
  const respond = (key: string, request: object) =>
    lab.respond('openai-chat', 'buffered', { provider: {}, ...request }, { key });

  it('can save the panel of its requests', async () => {
    play();
    const key = await openWorkspace({
      default_plugins: [
        { id: 'fusion', enabled: false, model: 'acme/gemini', analysis_models: ['acme/openai-chat'], tools: [] },
      ],
    });
    const served = await respond(key, { model: 'router/fusion' });
    expect(served.body.model).toBe('acme/gemini');
    expect(panelItemOf(served)).toMatchObject({ responses: [{ model: 'acme/openai-chat' }] });

    const plain = await respond(key, { model: 'acme/openai-chat' });
    expect(shownItems(plain)).toMatchObject([{ type: 'message' }]);
  });

  it('can disable the tool, and tools of the panel', async () => {
    play();
    const none = await openWorkspace({ disabled_server_tools: ['router:fusion'] });
    const slug = await respond(none, { model: 'router/fusion' });
    expect(slug.status).toBe(403);
    expect(slug.body.error!.metadata).toMatchObject({ issues: [{ path: 'model' }] });
    const named = await respond(none, { tools });
    expect(named.body.error!.metadata).toMatchObject({ issues: [{ path: 'tools[0].type' }] });

    const offline = await openWorkspace({ disabled_server_tools: ['router:web_search', 'router:web_fetch'] });
    const search = [{ type: 'router:web_search' }];
    const inTool = await respond(offline, { tools: toolsOf({ analysis_models: panel, tools: search }) });
    expect(inTool.body.error!.metadata).toMatchObject({ issues: [{ path: 'tools[0].parameters.tools[0].type' }] });
    const inPlugin = await respond(offline, { plugins: [{ id: 'fusion', tools: search }] });
    expect(inPlugin.body.error!.metadata).toMatchObject({ issues: [{ path: 'plugins[0].tools[0].type' }] });

    seen.splice(0);
    const served = await respond(offline, { tools: toolsOf({ analysis_models: ['acme/gemini'] }) });
    expect(panelItemOf(served)).toMatchObject({ responses: [{}] });
    expect(readSent('gemini', membersSeen()[0]!).tools).toEqual([]);
  });
});
