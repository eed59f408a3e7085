import { describe, expect, it } from 'vitest';
import { itemTypes } from '../../domain/items.ts';
import { findKinds } from '../../schema/by-kind.ts';
import { checkRequest } from './check-request.ts';
import { inputItem } from './schema/items.ts';

/** A kind, one minimal example that passes, and what breaks it: fields to overlay, and the path of the issue. */
type Example = [kind: string, minimal: object, broken: object, path: string];

const paths = (body: object): string[] => checkRequest(body).map((issue) => issue.path);
const withItem = (item: unknown) => ({ model: 'acme/mock', input: [{ role: 'user', content: 'hi' }, item] });
const withTool = (tool: unknown) => ({ model: 'acme/mock', input: 'hi', tools: [tool] });
const withPart = (role: string, part: unknown) => ({ model: 'acme/mock', input: [{ role, content: [part] }] });

const operation = { type: 'update_file', path: 'a.ts', diff: '@@\n-a\n+b' };
const commandOutput = { stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 0 } };

const items: Example[] = [
  ['message', { role: 'user', content: 'hi' }, { role: 'robot' }, 'role'],
  ['message', { role: 'assistant', content: null, status: 'newer' }, { status: '' }, 'status'],
  ['message', { role: 'system', content: [{ type: 'input_text', text: 'x' }] }, { content: 5 }, 'content'],
  ['message', { role: 'developer' }, { phase: 5 }, 'phase'],
  ['reasoning', { id: 'rs_1', summary: [] }, { format: 'acme-v1' }, 'format'],
  ['function_call', { call_id: 'c', name: 'f', arguments: '{}' }, { arguments: {} }, 'arguments'],
  ['function_call_output', { call_id: 'c', output: 'x' }, { output: { a: 1 } }, 'output'],
  ['custom_tool_call', { call_id: 'c', name: 'f', input: 'x' }, { input: 1 }, 'input'],
  ['custom_tool_call_output', { call_id: 'c', output: [] }, { output: null }, 'output'],
  ['apply_patch_call', { call_id: 'c', status: 'failed', operation }, { status: 1 }, 'status'],
  ['apply_patch_call_output', { call_id: 'c', status: 'in_progress' }, { status: true }, 'status'],
  [
    'local_shell_call',
    { id: 'l', call_id: 'c', status: 'completed', action: { type: 'exec', command: ['ls'], env: {} } },
    { action: { type: 'exec', command: 'ls', env: {} } },
    'action.command',
  ],
  ['local_shell_call_output', { id: 'l', output: 'x' }, { output: [] }, 'output'],
  ['shell_call', { call_id: 'c', action: { commands: ['ls'] } }, { action: { commands: [1] } }, 'action.commands[0]'],
  [
    'shell_call_output',
    { call_id: 'c', output: [commandOutput] },
    { output: [{ ...commandOutput, stdout: 1 }] },
    'output[0].stdout',
  ],
  [
    'mcp_list_tools',
    { id: 'm', server_label: 's', tools: [{ name: 'f', input_schema: {} }] },
    { tools: [{ name: 'f' }] },
    'tools[0].input_schema',
  ],
  ['mcp_approval_request', { id: 'm', arguments: '{}', name: 'f', server_label: 's' }, { name: 1 }, 'name'],
  ['mcp_approval_response', { approval_request_id: 'm', approve: true }, { approve: 'yes' }, 'approve'],
  [
    'mcp_call',
    { id: 'm', arguments: '{}', name: 'f', server_label: 's', error: { type: 'http_error', code: 500, message: 'x' } },
    { error: { type: 'http_error', code: '500', message: 'x' } },
    'error.code',
  ],
  ['item_reference', { id: 'msg_1' }, { id: null }, 'id'],
  ['compaction', { encrypted_content: 'x' }, { encrypted_content: null }, 'encrypted_content'],
  ['context_compaction', {}, { encrypted_content: 1 }, 'encrypted_content'],
  ['additional_tools', { role: 'developer', tools: [{ type: 'news' }] }, { role: 'robot' }, 'role'],
  [
    'agent_message',
    { author: 'a', recipient: 'b', content: [{ type: 'encrypted_content', encrypted_content: 'x' }] },
    { content: [{ type: 'input_file', file_id: 'f' }] },
    'content[0].type',
  ],
  ['configuration_update', { reasoning: { effort: 'lots' } }, { reasoning: { effort: null } }, 'reasoning.effort'],
  [
    'web_search_call',
    { id: 'w', status: 'completed', action: { type: 'search', query: 'x' } },
    { action: { type: 'find_in_page', url: 'x' } },
    'action.pattern',
  ],
  ['file_search_call', { id: 'f', queries: [], status: 'completed' }, { queries: 'x' }, 'queries'],
  ['image_generation_call', { id: 'i', status: 'incomplete' }, { status: [] }, 'status'],
  ['code_interpreter_call', { id: 'c', status: 'interpreting' }, { outputs: [{ type: 'logs' }] }, 'outputs[0].logs'],
  [
    'computer_call',
    { call_id: 'c', pending_safety_checks: [], status: 'completed' },
    { pending_safety_checks: [{ id: 'p', code: 'x' }] },
    'pending_safety_checks[0].message',
  ],
  ['router:web_search', { status: 'completed' }, { action: { type: 'search' } }, 'action.query'],
  ['router:web_fetch', { status: 'completed' }, { httpStatus: 200.5 }, 'httpStatus'],
  ['router:datetime', { status: 'completed', datetime: 'x', timezone: 'UTC' }, { timezone: null }, 'timezone'],
  ['router:image_generation', { status: 'completed', result: null }, { imageUrl: 1 }, 'imageUrl'],
  ['router:experimental__search_models', { status: 'completed' }, { arguments: {} }, 'arguments'],
  ['router:tool_search', { status: 'completed' }, { query: 1 }, 'query'],
  ['router:files', { status: 'completed', call_id: null }, { operation: 1 }, 'operation'],
  ['router:fusion', { status: 'completed' }, { responses: [{}] }, 'responses[0].model'],
  ['router:advisor', { status: 'failed' }, { status: 'done' }, 'status'],
  ['router:subagent', { status: 'in_progress' }, { task_name: 1 }, 'task_name'],
  ['router:apply_patch', { status: 'completed', operation }, { operation: { type: 'move_file' } }, 'operation.type'],
  ['router:shell', { status: 'failed' }, { output: [{ ...commandOutput, outcome: {} }] }, 'output[0].outcome.type'],
  ['router:bash', { status: 'failed' }, { exitCode: '0' }, 'exitCode'],
  ['router:code_interpreter', { status: 'completed' }, { code: 1 }, 'code'],
  ['router:file_search', { status: 'completed' }, { queries: [1] }, 'queries[0]'],
  ['router:browser_use', { status: 'completed' }, { action: {} }, 'action'],
  ['router:text_editor', { status: 'completed' }, { command: 'delete' }, 'command'],
  ['router:memory', { status: 'completed', value: [1] }, { action: 'forget' }, 'action'],
  ['router:mcp', { status: 'completed' }, { status: 'done' }, 'status'],
];

describe('input items', () => {
  it.each(items)('takes a minimal %s', (type, minimal) => {
    expect(checkRequest(withItem({ type, ...minimal }))).toEqual([]);
  });

  it.each(items)('refuses a broken %s and says where', (type, minimal, broken, path) => {
    expect(paths(withItem({ type, ...minimal, ...broken }))).toEqual([`input[1].${path}`]);
  });

  it.each([
    'function_cal',
    'quantum_call',
    '__proto__',
    'constructor',
    'toString',
  ])('takes an item of the kind %s, which is in no list', (type) => {
    expect(checkRequest(withItem({ type, anything: [{ goes: null }] }))).toEqual([]);
  });

  it.each([7, null, { toString: 1 }, ['message']])('refuses an item whose type is no text: %j', (type) => {
    expect(paths(withItem({ type }))).toEqual(['input[1].type']);
  });

  it('lists the kinds that the domain knows', () => {
    const kinds = [...findKinds(inputItem)!.schemas.keys()].filter((type) => !type.startsWith('router:'));
    expect(kinds.sort()).toEqual([...itemTypes].sort());
  });

  it('takes any object with a role and no type for a message', () => {
    expect(paths(withItem({ role: 'user', content: 'x' }))).toEqual([]);
    expect(paths(withItem({ content: 'x' }))).toEqual(['input[1].type']);
  });

  it('takes a replayed shell call without its action only with id and status', () => {
    expect(paths(withItem({ type: 'shell_call', call_id: 'c', id: 's', status: 'completed' }))).toEqual([]);
    expect(paths(withItem({ type: 'shell_call', call_id: 'c' }))).toEqual(['input[1].action']);
  });

  it('takes 10 files of a command and not 11', () => {
    const file = {
      type: 'container_file_citation',
      container_id: 'c',
      file_id: 'f',
      filename: 'a',
      start_index: 0,
      end_index: 0,
    };
    const bash = (count: number) =>
      withItem({ type: 'router:bash', status: 'completed', files: Array(count).fill(file) });
    expect(paths(bash(10))).toEqual([]);
    expect(paths(bash(11))).toEqual(['input[1].files']);
  });
});

describe('leniencies for real clients', () => {
  it.each([
    ['an image without detail', { role: 'user', content: [{ type: 'input_image', image_url: 'https://x/y.png' }] }],
    [
      'an assistant message without id and status',
      { role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
    ],
    ['a refusal in an easy message', { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }],
    ['null content beside other content', { role: 'user', content: null }],
    ['a function call without id', { type: 'function_call', call_id: 'c', name: 'f', arguments: '' }],
    ['reasoning without summary', { type: 'reasoning', id: 'rs_1', encrypted_content: 'x' }],
    ['reasoning without id', { type: 'reasoning', summary: [], encrypted_content: 'x' }],
    ['a model on an assistant message', { role: 'assistant', content: 'x', model: 'acme/mock' }],
  ])('takes %s', (_, item) => {
    expect(checkRequest(withItem(item))).toEqual([]);
  });
});

const inputParts: Example[] = [
  [
    'input_text',
    { text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } },
    { cache_control: { type: 'forever' } },
    'cache_control.type',
  ],
  ['input_text', { text: '', cache_control: { type: 'ephemeral', ttl: '1h' } }, { text: null }, 'text'],
  ['input_image', { image_url: 'data:image/png;base64,AA==' }, { detail: 'ultra' }, 'detail'],
  ['input_image', { file_id: 'f' }, { file_id: null }, ''],
  ['input_file', { file_data: 'x' }, { filename: 1 }, 'filename'],
  ['input_file', { file_url: 'https://x' }, { file_url: undefined }, ''],
  [
    'input_audio',
    { input_audio: { data: 'x', format: 'mp3' } },
    { input_audio: { data: 'x', format: 'ogg' } },
    'input_audio.format',
  ],
  ['input_video', { video_url: 'x', processing: 'static' }, { processing: 'fast' }, 'processing'],
];
const assistantParts: Example[] = [
  ['output_text', { text: 'x' }, { annotations: {} }, 'annotations'],
  ['output_text', { text: 'x', logprobs: [] }, { logprobs: [{ token: 'x' }] }, 'logprobs[0].logprob'],
  ['refusal', { refusal: 'x' }, { refusal: null }, 'refusal'],
  ['input_text', { text: 'x' }, { text: 1 }, 'text'],
];
const place = (head: string, path: string) => (path === '' ? head : `${head}.${path}`);

describe('content parts', () => {
  it.each(['user', 'system', 'developer', 'assistant'])('takes every input part in a message of role %s', (role) => {
    for (const [type, minimal] of inputParts) expect(checkRequest(withPart(role, { type, ...minimal }))).toEqual([]);
  });

  it.each(inputParts)('refuses a broken %s and says where', (type, minimal, broken, path) => {
    expect(paths(withPart('user', { type, ...minimal, ...broken }))).toEqual([place('input[0].content[0]', path)]);
  });

  it.each(assistantParts)('takes a minimal %s from the assistant', (type, minimal) => {
    expect(checkRequest(withPart('assistant', { type, ...minimal }))).toEqual([]);
  });

  it.each(assistantParts)('refuses a broken %s of the assistant and says where', (type, minimal, broken, path) => {
    expect(paths(withPart('assistant', { type, ...minimal, ...broken }))).toContain(place('input[0].content[0]', path));
  });

  it('refuses model-side parts from a user', () => {
    expect(paths(withPart('user', { type: 'output_text', text: 'x' }))).toEqual(['input[0].content[0].type']);
  });

  it.each([
    [{ type: 'url_citation', url: 'x', start_index: 0, end_index: 1 }, true],
    [{ type: 'file_citation', file_id: 'f', filename: 'a', index: 0 }, true],
    [{ type: 'file_path', file_id: 'f', index: 0 }, true],
    [{ type: 'file', file: { hash: 'x' } }, true],
    [{ type: 'url_citation', url: 'x', start_index: '0', end_index: 1 }, false],
    [{ url: 'x' }, false],
  ])('checks annotations of kinds it knows: %j', (annotation, isFine) => {
    const issues = checkRequest(withPart('assistant', { type: 'output_text', text: 'x', annotations: [annotation] }));
    expect(issues.length === 0).toBe(isFine);
  });

  it.each([
    'user',
    'assistant',
  ])('takes a part of a kind that is in no list, but no name of chat completions, from %s', (role) => {
    expect(checkRequest(withPart(role, { type: 'input_hologram', any: 1 }))).toEqual([]);
    expect(checkRequest(withPart(role, { type: 'text', text: 'x' }))).toEqual([
      expect.objectContaining({ message: expect.stringContaining('did you mean `input_text`?') }),
    ]);
  });

  it('takes text, image and file in a tool output, and no other part that it knows', () => {
    const output = (part: object) => withItem({ type: 'function_call_output', call_id: 'c', output: [part] });
    expect(paths(output({ type: 'input_file', file_id: 'f' }))).toEqual([]);
    expect(paths(output({ type: 'output_hologram' }))).toEqual([]);
    expect(paths(output({ type: 'input_audio', input_audio: { data: '', format: 'mp3' } }))).toEqual([
      'input[1].output[0].type',
    ]);
  });
});

const search = { filters: { allowed_domains: ['a.org'], excluded_domains: null }, max_results: 5 };
const tools: Example[] = [
  ['function', { name: 'f' }, { parameters: 'x' }, 'parameters'],
  ['function', { name: 'f', parameters: {}, strict: null, async: true }, { strict: 'yes' }, 'strict'],
  [
    'custom',
    { name: 'c', format: { type: 'text' } },
    { format: { type: 'grammar', definition: 'x', syntax: 'peg' } },
    'format.syntax',
  ],
  [
    'namespace',
    { name: 'n', description: '', tools: [{ type: 'function', name: 'f' }] },
    { tools: [{ type: 'mcp' }] },
    'tools[0].type',
  ],
  ['web_search', { ...search, user_location: {} }, { engine: 'bing' }, 'engine'],
  ['web_search_2025_08_26', search, { mode: 'slow' }, 'mode'],
  [
    'web_search_preview',
    { ...search, user_location: { type: 'approximate' } },
    { user_location: {} },
    'user_location.type',
  ],
  ['web_search_preview_2025_03_11', search, { search_context_size: '' }, 'search_context_size'],
  ['file_search', { vector_store_ids: [] }, { filters: { type: 'like', key: 'a', value: 'b' } }, 'filters.type'],
  [
    'computer_use_preview',
    { display_height: 1, display_width: 1, environment: 'mac' },
    { environment: '' },
    'environment',
  ],
  [
    'code_interpreter',
    { container: { type: 'auto', memory_limit: '4g' } },
    { container: { type: 'auto', memory_limit: '2g' } },
    'container.memory_limit',
  ],
  ['code_interpreter', { container: `cntr_${'a'.repeat(48)}` }, { container: 'no id!' }, 'container'],
  ['mcp', { server_label: 's', server_url: 'https://x' }, { require_approval: 'maybe' }, 'require_approval'],
  ['image_generation', {}, { output_format: 5 }, 'output_format'],
  ['local_shell', {}, { type: 5 }, 'type'],
  ['shell', { environment: { type: 'local' } }, { type: null }, 'type'],
  ['apply_patch', {}, { type: ['apply_patch'] }, 'type'],
  [
    'router:web_search',
    { parameters: { max_results: 5 } },
    { parameters: { max_results: '5' } },
    'parameters.max_results',
  ],
  ['router:web_fetch', {}, { parameters: { engine: 'curl' } }, 'parameters.engine'],
  [
    'router:datetime',
    { parameters: { timezone: 'Europe/Zurich' } },
    { parameters: { timezone: 'Mars/Base' } },
    'parameters.timezone',
  ],
  [
    'router:image_generation',
    { parameters: { model: 'm', size: '1K', n: [1] } },
    { parameters: { size: {} } },
    'parameters.size',
  ],
  ['router:experimental__search_models', { parameters: {} }, { parameters: [] }, 'parameters'],
  ['router:tool_search', { parameters: { max_results: 50 } }, { defer_loading: true }, 'defer_loading'],
  ['tool_search', {}, { parameters: { limit: 5 } }, 'parameters.limit'],
  ['router:files', { parameters: {} }, { parameters: { path: 'x' } }, 'parameters.path'],
  [
    'router:fusion',
    { parameters: { preset: 'general-fast' } },
    { parameters: { preset: 'fast' } },
    'parameters.preset',
  ],
  ['router:advisor', { parameters: { name: 'A 1' } }, { parameters: { name: 'a/b' } }, 'parameters.name'],
  [
    'router:subagent',
    { parameters: { tools: [{ type: 'router:bash' }] } },
    { parameters: { tools: [{ type: 'router:subagent' }] } },
    'parameters.tools[0].type',
  ],
  ['router:apply_patch', { parameters: { engine: 'router' } }, { parameters: { engine: 'git' } }, 'parameters.engine'],
  [
    'router:shell',
    { parameters: { environment: { type: 'container_auto' } } },
    { parameters: { environment: { type: 'local' } } },
    'parameters.environment.type',
  ],
  [
    'router:bash',
    { parameters: { engine: 'native' } },
    { parameters: { sleep_after_seconds: 1.5 } },
    'parameters.sleep_after_seconds',
  ],
  [
    'router:shell',
    { parameters: { sleep_after_seconds: 1 } },
    { parameters: { sleep_after_seconds: -1 } },
    'parameters.sleep_after_seconds',
  ],
];

describe('tools', () => {
  it.each(tools)('takes a minimal %s', (type, minimal) => {
    expect(checkRequest(withTool({ type, ...minimal }))).toEqual([]);
  });

  it.each(tools)('refuses a broken %s and says where', (type, minimal, broken, path) => {
    expect(paths(withTool({ type, ...minimal, ...broken }))).toEqual([`tools[0].${path}`]);
  });

  it.each(['computer', 'programmatic_tool_calling', '__proto__'])('takes the kind %s, which is in no list', (type) => {
    expect(checkRequest(withTool({ type, anything: [null] }))).toEqual([]);
  });

  it.each(['router:', 'router:Files', `router:${'a'.repeat(60)}`, 5])('refuses the kind %s', (type) => {
    expect(paths(withTool({ type }))).toEqual(['tools[0].type']);
  });

  it.each(
    tools.filter(([type]) => type.startsWith('router:') && type !== 'router:image_generation'),
  )('refuses an unknown parameter of %s', (type) => {
    expect(paths(withTool({ type, parameters: { unheard_of: 1 } }))).toEqual(['tools[0].parameters.unheard_of']);
  });

  it('refuses a function as a tool of a subagent', () => {
    const parameters = { tools: [{ type: 'function', name: 'f', parameters: null }] };
    expect(paths(withTool({ type: 'router:subagent', parameters }))).toEqual(['tools[0].parameters.tools[0].type']);
  });

  it('needs the label of an MCP server, which may be one of the gateway', () => {
    expect(paths(withTool({ type: 'mcp', server_url: 'https://mcp.example' }))).toEqual(['tools[0].server_label']);
    expect(paths(withTool({ type: 'mcp', server_label: 's' }))).toEqual([]);
    expect(paths(withTool({ type: 'mcp', server_label: 's', connector_id: 'connector_gmail' }))).toEqual([]);
  });

  it('takes allowed or excluded handles of x_search, not both, and 20 of them', () => {
    const web = (x_search: object) => paths(withTool({ type: 'web_search', x_search }));
    expect(web({ allowed_x_handles: Array(20).fill('a') })).toEqual([]);
    expect(web({ allowed_x_handles: Array(21).fill('a') })).toEqual(['tools[0].x_search.allowed_x_handles']);
    expect(web({ allowed_x_handles: ['a'], excluded_x_handles: ['b'] })).toEqual(['tools[0].x_search']);
  });

  it('checks the tools of additional_tools when it knows their kind', () => {
    const announce = (tool: object) => paths(withItem({ type: 'additional_tools', role: 'tool', tools: [tool] }));
    expect(announce({ type: 'function', name: 'f', parameters: null })).toEqual([]);
    expect(announce({ type: 'function' })).toContain('input[1].tools[0].name');
    expect(announce({})).toEqual(['input[1].tools[0].type']);
  });
});

const plugins: Example[] = [
  ['auto-router', { pin_model: true, cost_tier: 'low' }, { cost_tier: 'tiny' }, 'cost_tier'],
  ['auto-beta-router', { cost_quality_tradeoff: 10 }, { cost_quality_tradeoff: 11 }, 'cost_quality_tradeoff'],
  ['context-compression', { engine: 'middle-out' }, { engine: 'zip' }, 'engine'],
  ['file-parser', { pdf: { engine: 'native' } }, { pdf: { engine: 'tesseract' } }, 'pdf.engine'],
  ['fusion', { tools: [{ type: 'x', parameters: { a: { b: 1 } } }] }, { preset: 'fast' }, 'preset'],
  ['moderation', {}, { enabled: 'no' }, 'enabled'],
  ['pareto-router', { max_price: 0 }, { max_price: -1 }, 'max_price'],
  ['response-healing', { enabled: null }, { enabled: 'yes' }, 'enabled'],
  ['switchyard-router', { algorithm: 'stage' }, { algorithm: 'best' }, 'algorithm'],
  ['web', { user_location: null }, { user_location: {} }, 'user_location.type'],
  ['web-fetch', { max_uses: 1 }, { blocked_domains: 'x' }, 'blocked_domains'],
];

describe('plugins', () => {
  const withPlugin = (plugin: object) => ({ model: 'acme/mock', input: 'hi', plugins: [plugin] });

  it.each(plugins)('takes a minimal %s', (id, minimal) => {
    expect(checkRequest(withPlugin({ id, ...minimal }))).toEqual([]);
  });

  it.each(plugins)('refuses a broken %s and says where', (id, minimal, broken, path) => {
    expect(paths(withPlugin({ id, ...minimal, ...broken }))).toEqual([`plugins[0].${path}`]);
  });

  it('refuses an unknown plugin and one without id', () => {
    expect(checkRequest(withPlugin({ id: 'response-heeling' }))[0]?.message).toContain(
      'did you mean `response-healing`?',
    );
    expect(paths(withPlugin({ enabled: true }))).toEqual(['plugins[0].id']);
  });
});
