import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { main, manage } from '../api/manage.ts';
import type { Turn } from '../clients/turn.ts';
import { createFakeContainers } from './fake-containers.ts';
import { type ScriptedMcpServer, startMcpServer } from './mcp-server.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';

/* Content filters of the output in a response of several turns. */

const containers = createFakeContainers();
let lab: ToolLab;
let engine: ScriptedUpstream;
let people: ScriptedMcpServer;
const keys = { redact: '', block: '' };

beforeAll(async () => {
  engine = await startUpstream();
  engine.always(json({ results: [{ url: 'https://people.example/', title: 'Of jane@example.com', text: 'A page.' }] }));
  people = await startMcpServer();
  const server = { url: people.url };
  lab = await openToolLab(
    {
      mcp: { servers: { people: { ...server, require_approval: 'never' }, careful: server } },
      tools: {
        web_search: {
          engines: { exa: { driver: 'exa', base_url: engine.url, api_key: 'engine-key-of-a-test' } },
        },
      },
    },
    {
      'openai-responses': { native_search: false, native_shell: false, native_code_interpreter: false },
      'anthropic-messages': { native_search: false },
      gemini: { native_search: false },
    },
    { containers },
  );
  const ask = manage(() => lab.gateway);
  for (const action of ['redact', 'block'] as const) {
    const { body: made } = await ask('POST', '/keys', { name: action, workspace_id: main });
    const filter = { slug: 'email', action, apply_to: ['output'] };
    const rules = { name: action, workspace_id: main, content_filter_builtins: [filter] };
    const { body: guardrail } = await ask('POST', '/guardrails', rules);
    const hashes = { key_hashes: [made.data.hash] };
    expect((await ask('POST', `/guardrails/${guardrail.data.id}/assignments/keys`, hashes)).status).toBe(200);
    keys[action] = made.key;
  }
});
afterAll(() => Promise.all([lab.close(), engine.close(), people.close()]));
afterEach(() => {
  lab.takeRequests();
});

const tools = [{ type: 'router:web_search' }];
const searching: Turn = {
  text: 'I look for jane@example.com.',
  calls: [call('router_web_search', { query: 'jane@example.com' })],
};

describe.each(wireNames)('filters of the output with server tools on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    it('redact the advice of an advisor, also while it arrives', async () => {
      const advisor = { type: 'router:advisor', parameters: { stream: true } };
      lab.script(wire, { calls: [call('router_advisor', { prompt: 'Who?' })] }, { text: 'Ask jane@example.com now.' });
      lab.script(wire, { text: 'Done.' });
      const served = await lab.respond(wire, mode, { tools: [advisor] }, { key: keys.redact });
      expect(shownItems(served)[0]).toMatchObject({ status: 'completed', advice: 'Ask [EMAIL] now.' });
      expect(JSON.stringify(served)).not.toContain('jane@example.com');
    });

    it('redact what the client sees of every turn and tool, but not what the tools get', async () => {
      lab.script(wire, searching, { text: 'She is jane@example.com, says the page.' });
      const before = engine.requests.length;
      const served = await lab.respond(wire, mode, { tools }, { key: keys.redact });

      expect(served.status, JSON.stringify(served.body)).toBe(200);
      expect(JSON.stringify([served.body, served.events])).not.toMatch(/\bjane\b/);
      expect(shownItems(served)).toMatchObject([
        { type: 'message', content: [{ text: 'I look for [EMAIL].' }] },
        { type: 'router:web_search', status: 'completed', action: { query: '[EMAIL]' } },
        { type: 'message', content: [{ text: 'She is [EMAIL], says the page.' }] },
      ]);
      expect(JSON.stringify(engine.requests.slice(before).map(({ body }) => body))).toContain('jane@example.com');
      const sides = served.body.router_metadata?.pipeline?.flatMap(({ name, data }) =>
        name === 'content-filter' ? [data!['side']] : [],
      );
      expect(sides).toEqual(['output', 'output', 'output']); // two turns, and a tool in between
    });

    it('redact the URL that a tool was called with', async () => {
      const page = call('router_web_fetch', { url: 'http://people.invalid/?of=jane@example.com' });
      lab.script(wire, { calls: [page] }, { text: 'No such page.' });
      const fetching = { tools: [{ type: 'router:web_fetch' }] };
      const { body, events } = await lab.respond(wire, mode, fetching, { key: keys.redact });

      expect(body).toMatchObject({ status: 'completed', output: [{ type: 'router:web_fetch' }, { type: 'message' }] });
      expect(body.output[0]).toMatchObject({ url: 'http://people.invalid/?of=[EMAIL]' });
      expect(JSON.stringify([body, events])).not.toMatch(/\bjane\b/);
    });

    it('redact the arguments and the results of MCP servers, also after an approval', async () => {
      const jane = { text: 'jane@example.com' };
      const mcp = ['people', 'careful'].map((label) => ({ type: 'mcp', server_label: label }));
      people.once('tools/call', ({ error }) => error(-1, 'No page of jane@example.com.'));
      const calls = [call('people__echo', jane), call('people__echo', jane), call('careful__echo', jane)];
      lab.script(wire, { calls });
      const served = await lab.respond(wire, mode, { tools: mcp }, { key: keys.redact });
      expect(served.status, JSON.stringify(served.body)).toBe(200);
      expect(JSON.stringify([served.body, served.events])).not.toMatch(/\bjane\b/);
      const items = shownItems(served).filter(({ type }) => type !== 'mcp_list_tools');
      expect(items.map(({ type }) => type)).toEqual(['mcp_call', 'mcp_call', 'mcp_approval_request']);
      expect(JSON.stringify(items)).toContain('echo: [EMAIL]');
      expect(JSON.stringify(items)).toContain('No page of [EMAIL].');
      expect(items[2]!['arguments']).toBe('{"text":"[EMAIL]"}');

      // The gateway stores nothing: the call has the arguments that the client sends back.
      const approved = { ...items[2]!, arguments: JSON.stringify(jane) };
      const response = { type: 'mcp_approval_response', approval_request_id: approved.id, approve: true };
      lab.script(wire, { text: 'Done.' });
      const input = [{ type: 'message', role: 'user', content: 'Go on.' }, approved, response];
      const next = await lab.respond(wire, mode, { tools: mcp, input }, { key: keys.redact });
      expect(JSON.stringify([next.body, next.events])).not.toMatch(/\bjane\b/);
      expect(shownItems(next).find(({ type }) => type === 'mcp_call')).toMatchObject({ output: 'echo: [EMAIL]' });
    });

    it.each([
      ['router:shell', { commands: ['mail jane@example.com'] }],
      ['shell', { commands: ['mail jane@example.com'] }],
      ['router:bash', { command: 'mail jane@example.com' }],
      ['code_interpreter', { code: 'mail("jane@example.com")' }],
      ['router:text_editor', { command: 'create', path: 'jane@example.com', file_text: 'x' }],
    ])('redact the commands of %s and their output, also while they run', async (type, input) => {
      containers.run = async ({ onOutput }) => {
        for (const piece of ['To jane@exa', 'mple.com: ', 'sent']) onOutput?.('stdout', piece);
        onOutput?.('stderr', 'jane@example.com');
        return { stdout: 'To jane@example.com: sent', stderr: 'jane@example.com' };
      };
      const name = `router_${type.replace('router:', '')}`;
      lab.script(wire, { calls: [call(name, input)] }, { text: 'Done.' });
      const request = {
        include: ['code_interpreter_call.outputs'],
        tools: [
          type === 'router:bash'
            ? { type, parameters: { engine: 'router' } }
            : { type, ...(type === 'code_interpreter' && { container: { type: 'auto' } }) },
        ],
      };
      const headers = { 'x-router-tool-output': 'enabled' };
      const served = await lab.respond(wire, mode, request, { key: keys.redact, headers });

      expect(served.status, JSON.stringify(served.body)).toBe(200);
      expect(JSON.stringify([served.body, served.events])).not.toMatch(/\bjane\b/);
      expect(JSON.stringify(served.body)).toContain('[EMAIL]');
      if (mode === 'buffered' || type === 'router:text_editor') return;
      const deltas = served.events.filter(({ type: kind }) => kind === 'response.tool_output.delta');
      const shown = (deltas as unknown as { stream: string; delta: string }[]).map(({ stream, delta }) => [
        stream,
        delta,
      ]);
      const joined = (wanted: string) =>
        shown.flatMap(([stream, delta]) => (stream === wanted ? [delta] : [])).join('');
      expect([joined('stdout'), joined('stderr')]).toEqual(['To [EMAIL]: sent', '[EMAIL]']);
    });

    it('block in a later turn, after a tool has run', async () => {
      lab.script(
        wire,
        { calls: searching.calls!.map(({ name }) => call(name, { query: 'her page' })) },
        { text: 'jane@example.com.' },
      );
      const { status, body, events } = await lab.respond(wire, mode, { tools }, { key: keys.block });

      expect(JSON.stringify([body, events])).not.toMatch(/\bjane\b/);
      if (mode === 'buffered') expect(status).toBe(403);
      else expect(body).toMatchObject({ status: 'failed', incomplete_details: { reason: 'content_filter' } });
    });
  });
});
