import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modes, openToolLab, type ToolLab, type WireName, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/*
 * Items of all tools of the gateway and of providers, in a conversation whose `tools` no longer have them. The rules of
 * docs/reference/tools.md#replay.
 */

const without = Object.fromEntries(
  ['search', 'mcp', 'images', 'patches', 'shell', 'code_interpreter'].map((tool) => [`native_${tool}`, false]),
);
let lab: ToolLab;
/** Its provider of the wire `openai-responses` has no tools of its own. */
let bareLab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
  bareLab = await openToolLab({}, { 'openai-responses': { ...without, native_items: false } });
});
afterAll(() => Promise.all([lab.close(), bareLab.close()]));

/** The call and the result that the model reads, on every wire. */
interface Shown {
  name: string;
  call: unknown;
  result: unknown;
}

interface Replayed {
  items: readonly object[];
  /** Absent: the model reads nothing of the items. */
  shown?: Shown;
  /** Whether providers of the format get the items as they are: those that have the tool, or all. */
  native?: 'with the tool' | 'always';
}

const completed = { id: 'st_1', status: 'completed' };
const ownId = (prefix: string) => prefix + 'A1b2'.repeat(6);
const outcome = { type: 'exit', exit_code: 0 };
const listing = [{ stdout: 'a.txt', stderr: '', outcome }];
const action = { type: 'search', query: 'heat', sources: [{ type: 'url', url: 'https://a.example/' }] };
const passage = { file_id: 'file_1', filename: 'a.txt', score: 1, text: 'Heat.' };
const operation = { type: 'create_file', path: 'a.txt', diff: '+x\n' };
const patched = { type: 'apply_patch_call_output', call_id: 'call_1', status: 'failed', output: 'No line.' };
const shellCall = { type: 'shell_call', call_id: 'call_1', status: 'completed', action: { commands: ['ls'] } };
const shellOutput = { type: 'shell_call_output', call_id: 'call_1', status: 'completed', output: listing };
const approval = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'docs', name: 'echo', arguments: '{}' };

const searched: Shown = {
  name: 'router_web_search',
  call: { query: 'heat' },
  result: { results: [{ url: 'https://a.example/' }] },
};
const found: Shown = { name: 'router_file_search', call: { queries: ['heat'] }, result: { results: [passage] } };
const listed: Shown = { name: 'router_shell', call: { commands: ['ls'] }, result: { output: listing } };
const patch: Shown = {
  name: 'router_apply_patch',
  call: { operation },
  result: { status: 'failed', output: 'No line.' },
};
const open: Shown = { ...patch, result: { error: 'The call has no result.' } };
const ran: Shown = {
  name: 'router_code_interpreter',
  call: { code: '1' },
  result: { outputs: [{ type: 'logs', logs: '1' }] },
};

const table: Record<string, Replayed> = {
  'router:web_search': { items: [{ type: 'router:web_search', ...completed, action }], shown: searched },
  web_search_call: {
    items: [{ type: 'web_search_call', ...completed, action }],
    shown: searched,
    native: 'with the tool',
  },
  'router:web_fetch': {
    items: [{ type: 'router:web_fetch', ...completed, url: 'https://a.example/', title: 'A', content: 'Text.' }],
    shown: {
      name: 'router_web_fetch',
      call: { url: 'https://a.example/' },
      result: { url: 'https://a.example/', title: 'A', content: 'Text.', status: 'completed' },
    },
  },
  'router:file_search': {
    items: [{ type: 'router:file_search', ...completed, queries: ['heat'], results: [passage] }],
    shown: found,
  },
  file_search_call: {
    items: [{ type: 'file_search_call', ...completed, queries: ['heat'], results: [passage] }],
    shown: found,
    native: 'always',
  },
  'router:datetime': {
    items: [{ type: 'router:datetime', ...completed, datetime: '2026-01-01T00:00:00.000Z', timezone: 'UTC' }],
    shown: {
      name: 'router_datetime',
      call: { timezone: 'UTC' },
      result: { datetime: '2026-01-01T00:00:00.000Z', timezone: 'UTC' },
    },
  },
  'router:image_generation': {
    items: [{ type: 'router:image_generation', ...completed, prompt: 'A fox', result: 'AAAA' }],
    shown: {
      name: 'router_image_generation',
      call: { prompt: 'A fox' },
      result: { status: 'ok', message: expect.stringContaining('image is complete') },
    },
  },
  'router:shell': {
    items: [{ type: 'router:shell', ...completed, call_id: 'call_1', action: { commands: ['ls'] }, output: listing }],
    shown: listed,
  },
  'shell_call of a provider': {
    items: [{ ...shellCall, id: 'shc_1' }, shellOutput],
    shown: listed,
    native: 'with the tool',
  },
  'shell_call of the gateway': { items: [{ ...shellCall, id: ownId('shc_') }, shellOutput], shown: listed },
  local_shell_call: {
    items: [
      {
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'call_1',
        status: 'completed',
        action: { type: 'exec', command: ['ls'], env: {} },
      },
      { type: 'local_shell_call_output', id: 'call_1', output: 'a.txt' },
    ],
    shown: { ...listed, result: { output: 'a.txt' } },
    native: 'with the tool',
  },
  'router:bash': {
    items: [{ type: 'router:bash', ...completed, command: 'ls', stdout: 'a.txt', stderr: '', exitCode: 0 }],
    shown: {
      name: 'router_bash',
      call: { command: 'ls' },
      result: { command: 'ls', stdout: 'a.txt', stderr: '', exitCode: 0 },
    },
  },
  'router:code_interpreter': {
    items: [{ type: 'router:code_interpreter', ...completed, code: '1', stdout: '1', stderr: '', exitCode: 0 }],
    shown: { ...ran, result: { stdout: '1', stderr: '', exitCode: 0 } },
  },
  code_interpreter_call: {
    items: [{ type: 'code_interpreter_call', ...completed, code: '1', outputs: [{ type: 'logs', logs: '1' }] }],
    shown: ran,
    native: 'with the tool',
  },
  'router:text_editor': {
    items: [{ type: 'router:text_editor', ...completed, command: 'view', filePath: 'a.txt', result: 'Text.' }],
    shown: { name: 'router_text_editor', call: { command: 'view', path: 'a.txt' }, result: { result: 'Text.' } },
  },
  'router:memory': {
    items: [{ type: 'router:memory', ...completed, action: 'read', key: 'color', value: 'blue' }],
    shown: { name: 'router_memory', call: { action: 'read', key: 'color' }, result: { key: 'color', value: 'blue' } },
  },
  'router:files': {
    items: [{ type: 'router:files', ...completed, operation: 'list', result: '{"files":[]}' }],
    shown: { name: 'router_files', call: { operation: 'list' }, result: { result: { files: [] } } },
  },
  'router:apply_patch': {
    items: [{ type: 'router:apply_patch', ...completed, call_id: 'call_1', operation }, patched],
    shown: patch,
  },
  'router:apply_patch without a result': {
    items: [{ type: 'router:apply_patch', ...completed, call_id: 'call_1', operation }],
    shown: open,
  },
  'apply_patch_call of a provider': {
    items: [{ type: 'apply_patch_call', ...completed, id: 'apc_1', call_id: 'call_1', operation }, patched],
    shown: patch,
    native: 'with the tool',
  },
  'apply_patch_call of the gateway': {
    items: [{ type: 'apply_patch_call', ...completed, id: ownId('apc_'), call_id: 'call_1', operation }, patched],
    shown: patch,
  },
  'apply_patch_call of the gateway without a result': {
    items: [{ type: 'apply_patch_call', ...completed, id: ownId('apc_'), call_id: 'call_1', operation }],
    shown: open,
  },
  'router:experimental__search_models': {
    items: [
      { type: 'router:experimental__search_models', ...completed, arguments: '{"query":"q"}', result: '{"models":[]}' },
    ],
    shown: { name: 'router_experimental__search_models', call: { query: 'q' }, result: { models: [] } },
  },
  'router:tool_search': {
    items: [{ type: 'router:tool_search', ...completed, arguments: '{"query":"q"}', result: '{"tools":[]}' }],
    shown: { name: 'router_tool_search', call: { query: 'q' }, result: { tools: [] } },
  },
  'router:advisor': {
    items: [{ type: 'router:advisor', ...completed, prompt: 'Which?', advice: 'Left.', model: 'acme/one' }],
    shown: {
      name: 'router_advisor',
      call: { prompt: 'Which?' },
      result: { status: 'ok', model: 'acme/one', advice: 'Left.' },
    },
  },
  'router:subagent': {
    items: [
      { type: 'router:subagent', ...completed, call_id: 'call_1', task_name: 't', task_description: 'd', outcome: 'o' },
    ],
    shown: {
      name: 'router_subagent',
      call: { task_name: 't', task_description: 'd' },
      result: { status: 'ok', task_name: 't', outcome: 'o' },
    },
  },
  'router:subagent that waits': {
    items: [
      {
        type: 'router:subagent',
        status: 'in_progress',
        call_id: 'call_1',
        task_name: 't',
        arguments: '{"task_name":"t"}',
      },
      { type: 'function_call', call_id: 'call_2', name: 'ask_user', arguments: '{}', subagent_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_2', output: 'x' },
    ],
    shown: {
      name: 'router_subagent',
      call: { task_name: 't' },
      result: { status: 'error', task_name: 't', error: 'The call was interrupted.' },
    },
  },
  'router:fusion': {
    items: [{ type: 'router:fusion', ...completed, responses: [{ model: 'acme/one', content: 'Blue.' }] }],
    shown: {
      name: 'router_fusion',
      call: {},
      result: { status: 'ok', responses: [{ model: 'acme/one', content: 'Blue.' }] },
    },
  },
  mcp_list_tools: {
    items: [{ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'docs', tools: [] }],
    native: 'with the tool',
  },
  mcp_call: {
    items: [{ type: 'mcp_call', id: 'mcp_1', server_label: 'docs', name: 'echo', arguments: '{}', output: 'x' }],
    shown: { name: 'docs__echo', call: {}, result: { output: 'x' } },
    native: 'with the tool',
  },
  mcp_approval_request: {
    items: [approval, { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }],
    shown: { name: 'docs__echo', call: {}, result: { error: expect.stringContaining('approved this call') } },
    native: 'with the tool',
  },
  'a tool of the operator that is gone': {
    items: [{ type: 'router:weather', ...completed, arguments: '{"city":"Oslo"}', result: '{"degrees":3}' }],
    shown: { name: 'router_weather', call: { city: 'Oslo' }, result: { degrees: 3 } },
  },
  'a call that has failed': {
    items: [{ type: 'router:web_search', id: 'st_1', status: 'failed', error: 'It is down.' }],
    shown: { name: 'router_web_search', call: {}, result: { error: 'It is down.' } },
  },
  'an item without a result': { items: [{ type: 'router:browser_use', ...completed, action: 'click' }] },
};

const places: [place: string, wire: WireName, isBare: boolean][] = [
  ...wireNames.map((wire): [string, WireName, boolean] => [wire, wire, false]),
  ['openai-responses without tools of its own', 'openai-responses', true],
];
const weather = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } };

describe.each(places)('without its tool, on %s', (_place, wire, isBare) => {
  describe.each(modes)('%s', (mode) => {
    it.each(Object.entries(table))('replays %s', async (_kind, { items, shown, native }) => {
      const { respond, script, takeRequests } = isBare ? bareLab : lab;
      for (const tools of [undefined, [weather]]) {
        script(wire, { text: 'ok' });
        const input = [{ role: 'user', content: 'Go.' }, ...items, { role: 'user', content: 'And now?' }];
        const served = await respond(wire, mode, { input, ...(tools && { tools }) });

        expect(served.body).toMatchObject({ status: 'completed', error: null });
        const requests = takeRequests();
        expect(requests).toHaveLength(1);
        const { calls, results } = readSent(wire, requests[0]!);
        if (native && wire === 'openai-responses' && (native === 'always' || !isBare)) {
          expect((requests[0]!.body as { input: object[] }).input.slice(1, -1)).toEqual(items);
          continue;
        }
        expect(calls.map(({ name, value }) => ({ name, call: value }))).toEqual(
          shown ? [{ name: shown.name, call: shown.call }] : [],
        );
        expect(results.map(({ id, value }) => ({ id, result: value }))).toEqual(
          shown ? [{ id: calls[0]!.id, result: shown.result }] : [],
        );
        expect(requests[0]!.text).not.toMatch(
          /"type":"(?:router:|mcp_|apply_patch|(?:local_)?shell|code_int|(?:file|web)_s)/,
        );
      }
    });
  });
});
