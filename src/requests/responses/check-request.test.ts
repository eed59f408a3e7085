import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRequest } from './check-request.ts';

const minimal = { model: 'acme/mock', input: 'hi' };
const check = (fields: object) => checkRequest({ ...minimal, ...fields });
const paths = (fields: object) => check(fields).map((issue) => issue.path);
const text = (length: number) => 'x'.repeat(length);
const list = (length: number, entry: unknown) => Array.from({ length }, () => entry);
const user = { role: 'user', content: 'hi' };
const plugin = (id: string, fields: object) => ({ plugins: [{ id, ...fields }] });
const fusionTool = (parameters: object) => ({ tools: [{ type: 'router:fusion', parameters }] });
const subagent = (parameters: object) => ({ tools: [{ type: 'router:subagent', parameters }] });
const shell = (environment: object) => ({ tools: [{ type: 'router:shell', parameters: { environment } }] });
const pairs = (count: number) => Object.fromEntries(list(count, 0).map((_, index) => [`key${index}`, 'x']));

describe('the body', () => {
  it.each([[null], [[]], ['hi'], [5], [undefined]])('must be an object: %j', (body) => {
    expect(checkRequest(body)).toEqual([
      { path: '', message: expect.stringContaining('The body must be a JSON object') },
    ]);
  });

  it('can be absent without a content type', () => {
    expect(checkRequest(undefined)).toMatchObject([{ message: 'The body must be a JSON object, got nothing.' }]);
  });

  it('is open: unknown fields pass, whatever they are called', () => {
    const body = JSON.parse('{"model":"m","input":"hi","stream_options":{},"__proto__":{"model":5},"constructor":1}');
    expect(checkRequest(body)).toEqual([]);
  });

  it('names the field, the value and what is allowed', () => {
    expect(check({ service_tier: 'prority' })).toEqual([
      {
        path: 'service_tier',
        message:
          '`service_tier` must be one of `auto`, `default`, `fast`, `flex`, `priority`, `scale` or null, got "prority"; did you mean `priority`?',
      },
    ]);
  });

  it('shows at most 60 characters of a value', () => {
    const [issue] = check({ temperature: `😀${text(100_000)}` });
    expect(issue?.message.length).toBeLessThan(60 + 60);
    expect(issue?.message.isWellFormed()).toBe(true);
  });

  it('reports every problem', () => {
    expect(paths({ temperature: 'hot', top_p: {}, store: true, models: [5, ''], provider: { orders: [] } })).toEqual([
      'temperature',
      'top_p',
      'store',
      'models[0]',
      'models[1]',
      'provider.orders',
    ]);
  });

  it('reports at most 100 problems', () => {
    expect(check({ models: undefined, input: list(500, { type: 7 }) })).toHaveLength(100);
  });
});

describe('limits, on both sides', () => {
  it.each<[rule: string, path: string, fine: object, broken: object]>([
    ['metadata has 16 pairs', 'metadata', { metadata: pairs(16) }, { metadata: pairs(17) }],
    [
      'a metadata key has 64 characters',
      `metadata.${text(59)}…`,
      { metadata: { [text(64)]: '' } },
      { metadata: { [text(65)]: '' } },
    ],
    [
      'a metadata value has 512 characters',
      'metadata.a',
      { metadata: { a: text(512) } },
      { metadata: { a: text(513) } },
    ],
    ['session_id has 256 characters', 'session_id', { session_id: text(256) }, { session_id: text(257) }],
    [
      'an emoji counts as one character',
      'session_id',
      { session_id: '😀'.repeat(256) },
      { session_id: '😀'.repeat(257) },
    ],
    ['user has 256 characters', 'user', { user: text(256) }, { user: text(257) }],
    ['models has 32 entries', 'models', { models: list(32, 'm') }, { models: list(33, 'm') }],
    [
      'provider.only has 1024 entries',
      'provider.only',
      { provider: { only: list(1024, 'p') } },
      { provider: { only: list(1025, 'p') } },
    ],
    ['max_output_tokens is 1 or more', 'max_output_tokens', { max_output_tokens: 1 }, { max_output_tokens: 0 }],
    ['max_tool_calls is 0 or more', 'max_tool_calls', { max_tool_calls: 0 }, { max_tool_calls: -1 }],
    [
      'a router plugin has 1024 patterns',
      'plugins[0].allowed_models',
      plugin('auto-router', { allowed_models: list(1024, 'a') }),
      plugin('auto-router', { allowed_models: list(1025, 'a') }),
    ],
    [
      'a pattern has 1024 characters',
      'plugins[0].excluded_models[0]',
      plugin('auto-beta-router', { excluded_models: [text(1024)] }),
      plugin('auto-beta-router', { excluded_models: [text(1025)] }),
    ],
    [
      'patterns have 65536 characters in total',
      'plugins[0].allowed_models',
      plugin('auto-router', { allowed_models: list(64, text(1024)) }),
      plugin('auto-router', { allowed_models: [...list(64, text(1024)), 'x'] }),
    ],
    [
      'cost_quality_tradeoff is at least 0',
      'plugins[0].cost_quality_tradeoff',
      plugin('auto-router', { cost_quality_tradeoff: 0 }),
      plugin('auto-router', { cost_quality_tradeoff: -1 }),
    ],
    [
      'cost_quality_tradeoff is at most 10',
      'plugins[0].cost_quality_tradeoff',
      plugin('auto-router', { cost_quality_tradeoff: 10 }),
      plugin('auto-router', { cost_quality_tradeoff: 11 }),
    ],
    [
      'min_coding_score is at most 1',
      'plugins[0].min_coding_score',
      plugin('pareto-router', { min_coding_score: 1 }),
      plugin('pareto-router', { min_coding_score: 1.01 }),
    ],
    [
      'min_coding_score is at least 0',
      'plugins[0].min_coding_score',
      plugin('pareto-router', { min_coding_score: 0 }),
      plugin('pareto-router', { min_coding_score: -0.1 }),
    ],
    [
      'pareto max_price is at least 0',
      'plugins[0].max_price',
      plugin('pareto-router', { max_price: 0 }),
      plugin('pareto-router', { max_price: -0.01 }),
    ],
    [
      'fusion has 8 analysis models',
      'plugins[0].analysis_models',
      plugin('fusion', { analysis_models: list(8, 'm') }),
      plugin('fusion', { analysis_models: list(9, 'm') }),
    ],
    [
      'fusion has at least 1 analysis model',
      'tools[0].parameters.analysis_models',
      fusionTool({ analysis_models: ['m'] }),
      fusionTool({ analysis_models: [] }),
    ],
    [
      'fusion has 8 tools',
      'plugins[0].tools',
      plugin('fusion', { tools: list(8, { type: 't' }) }),
      plugin('fusion', { tools: list(9, { type: 't' }) }),
    ],
    [
      'fusion max_tool_calls is at most 16',
      'plugins[0].max_tool_calls',
      plugin('fusion', { max_tool_calls: 16 }),
      plugin('fusion', { max_tool_calls: 17 }),
    ],
    [
      'fusion max_tool_calls is at least 1',
      'tools[0].parameters.max_tool_calls',
      fusionTool({ max_tool_calls: 1 }),
      fusionTool({ max_tool_calls: 0 }),
    ],
    [
      'subagent max_tool_calls is at least 1',
      'tools[0].parameters.max_tool_calls',
      subagent({ max_tool_calls: 1 }),
      subagent({ max_tool_calls: 0 }),
    ],
    [
      'subagent max_tool_calls is at most 25',
      'tools[0].parameters.max_tool_calls',
      subagent({ max_tool_calls: 25 }),
      subagent({ max_tool_calls: 26 }),
    ],
    [
      'an instance name has 64 characters',
      'tools[0].parameters.name',
      subagent({ name: text(64) }),
      subagent({ name: text(65) }),
    ],
    [
      'an instance name is measured trimmed',
      'tools[0].parameters.name',
      subagent({ name: ` ${text(64)} ` }),
      subagent({ name: '  ' }),
    ],
    [
      'a container takes 20 files',
      'tools[0].parameters.environment.file_ids',
      shell({ type: 'container_auto', file_ids: list(20, 'f') }),
      shell({ type: 'container_auto', file_ids: list(21, 'f') }),
    ],
    [
      'a container id has 40 characters',
      'tools[0].parameters.environment.container_id',
      shell({ type: 'container_reference', container_id: text(40) }),
      shell({ type: 'container_reference', container_id: text(41) }),
    ],
    [
      'a network policy allows 50 domains',
      'tools[0].parameters.environment.network_policy.allowed_domains',
      shell({ type: 'container_auto', network_policy: { type: 'allowlist', allowed_domains: list(50, 'a') } }),
      shell({ type: 'container_auto', network_policy: { type: 'allowlist', allowed_domains: list(51, 'a') } }),
    ],
    [
      'a function name has 128 characters',
      'tools[0].name',
      { tools: [{ type: 'function', name: text(128), parameters: null }] },
      { tools: [{ type: 'function', name: text(129), parameters: null }] },
    ],
    [
      'stop_server_tools_when has at least 1 condition',
      'stop_server_tools_when',
      { stop_server_tools_when: [{ type: 'step_count_is', step_count: 1 }] },
      { stop_server_tools_when: [] },
    ],
  ])('%s', (_, path, fine, broken) => {
    expect(check(fine)).toEqual([]);
    expect(paths(broken)).toEqual([path]);
  });
});

describe('fields of a wrong type or word', () => {
  it.each<[path: string, fine: unknown[], broken: unknown[]]>([
    ['background', [true, null], ['yes']],
    ['cache_control', [{ type: 'ephemeral', ttl: '5m' }, null], []],
    ['debug', [{ echo_upstream_body: true }, {}, null], [true]],
    ['frequency_penalty', [-2, 99, null], ['1', Number.NaN]],
    ['image_config', [{ a: 'x', b: 1, c: [] }, null], ['x']],
    ['include', [['reasoning.encrypted_content', 'web_search_call.results'], ['newer'], null], ['reasoning']],
    ['instructions', ['', null], [1]],
    ['max_output_tokens', [null], [1.5, '1']],
    ['max_tool_calls', [31, null], [1.5]],
    ['modalities', [['text', 'image'], null], ['text']],
    ['model', ['m'], ['', 5, null]],
    ['parallel_tool_calls', [false, null], [0]],
    ['presence_penalty', [0, null], [[]]],
    ['previous_response_id', [null], ['resp_1', 0, false]],
    ['prompt_cache_key', ['k', null], [1]],
    ['prompt_cache_options', [{ mode: 'explicit', ttl: null }, null], ['explicit']],
    ['reasoning', [{ effort: null, max_tokens: 0, enabled: false, unknown: 1 }, null], ['high']],
    ['route', ['fallback', 'sort', 5, null], []],
    ['safety_identifier', ['s', null], [1]],
    ['service_tier', ['auto', 'fast', null], ['fastest', 1]],
    ['store', [false, null], [true]],
    ['stream', [true, false, null], ['true']],
    ['temperature', [0, 2, 100, null], ['1', true]],
    ['text', [{ verbosity: null }, { format: { type: 'json_object' } }, null], []],
    ['top_k', [0, 5, null], [1.5]],
    ['top_logprobs', [20, null], [0.5]],
    ['top_p', [1, null], ['1']],
    ['trace', [{ trace_id: 'a', anything: [1] }, null], []],
    ['truncation', ['auto', 'disabled', null], ['off']],
    ['tools', [[], null], [{}]],
    ['plugins', [[], null], []],
    ['tool_choice', ['auto', 'none', 'required', null], ['any', 5]],
  ])('%s', (path, fine, broken) => {
    for (const value of fine) expect([value, check({ [path]: value })]).toEqual([value, []]);
    for (const value of broken) expect([value, paths({ [path]: value })]).toEqual([value, [path]]);
  });

  it.each<[path: string, fields: object]>([
    ['metadata.a', { metadata: { a: 1 } }],
    ['metadata["a[0]"]', { metadata: { 'a[0]': 'x' } }],
    ['image_config.a', { image_config: { a: null } }],
    ['include[1]', { include: ['reasoning.encrypted_content', 5] }],
    ['modalities[0]', { modalities: ['audio'] }],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'n' } } }],
    ['text.format.type', { text: { format: { type: 'yaml' } } }],
    ['reasoning.effort', { reasoning: { effort: 'x'.repeat(65) } }],
    ['trace.span_name', { trace: { span_name: 1 } }],
    ['metadata[""]', { metadata: { '': 1 } }],
    ['metadata["a.b\\""]', { metadata: { 'a.b"': 1 } }],
    ['prompt.id', { prompt: {} }],
    ['prompt.variables.a.type', { prompt: { id: 'p', variables: { a: { type: 'input_audio' } } } }],
    ['prompt.variables.a', { prompt: { id: 'p', variables: { a: { type: 'input_file' } } } }],
    ['cache_control.ttl', { cache_control: { type: 'ephemeral', ttl: '2h' } }],
    ['stop_server_tools_when.type', { stop_server_tools_when: { type: 'bored' } }],
    ['stop_server_tools_when[0].tool_name', { stop_server_tools_when: [{ type: 'has_tool_call', tool_name: '' }] }],
    ['provider.sort', { provider: { sort: 'cheapest' } }],
    ['provider.sort.by', { provider: { sort: { by: 'cheapest' } } }],
    ['provider.max_price.prompt', { provider: { max_price: { prompt: 'cheap' } } }],
    ['provider.quantizations[0]', { provider: { quantizations: ['int2'] } }],
    ['provider.preferred_max_latency.p50', { provider: { preferred_max_latency: { p50: 'fast' } } }],
    ['tool_choice.server_label', { tool_choice: { type: 'mcp' } }],
    ['tool_choice.type', { tool_choice: { type: 'router:' } }],
    ['tool_choice.name', { tool_choice: { type: 'function' } }],
    ['tool_choice.mode', { tool_choice: { type: 'allowed_tools', mode: 'none', tools: [] } }],
  ])('%s', (path, fields) => {
    expect(paths(fields)).toEqual([path]);
  });

  it.each([
    [
      { tool_choice: { type: 'router:mcp!' } },
      '`type` does not name a tool choice: "router:mcp!"; see https://headgate.dev/docs/reference/tools#tool-choice.',
    ],
    [{ tools: [{ type: 'router:files', parameters: { path: '/' } }] }, '`path` is not known here; leave it out.'],
  ])('says what to do about %j', (fields, message) => {
    expect(check(fields).map((issue) => issue.message)).toEqual([message]);
  });

  it('takes one stop condition as an object, and every kind in a list', () => {
    const conditions = [
      { type: 'step_count_is', step_count: 1 },
      { type: 'has_tool_call', tool_name: 'x' },
      { type: 'max_tokens_used', max_tokens: 1 },
      { type: 'max_cost', max_cost_in_dollars: 0.1 },
      { type: 'finish_reason_is', reason: 'length' },
    ];
    expect(check({ stop_server_tools_when: conditions })).toEqual([]);
    for (const condition of conditions) expect(check({ stop_server_tools_when: condition })).toEqual([]);
  });

  it('takes every field of provider, also as null', () => {
    const provider = {
      order: ['acme'],
      only: null,
      ignore: [],
      allow_fallbacks: null,
      require_parameters: true,
      data_collection: 'deny',
      zdr: false,
      enforce_distillable_text: null,
      quantizations: ['fp8'],
      sort: { by: null, partition: 'none' },
      max_price: { prompt: '1.5', completion: 2 },
      preferred_max_latency: 3,
      preferred_min_throughput: { p50: null, p99: 1 },
    };
    expect(check({ provider })).toEqual([]);
    expect(check({ provider: null })).toEqual([]);
  });

  it.each([
    { type: 'function', name: 'f' },
    { type: 'custom', name: 'f' },
    { type: 'web_search_preview' },
    { type: 'web_search_preview_2025_03_11' },
    { type: 'apply_patch' },
    { type: 'shell' },
    { type: 'router:web_search' },
    { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', server_label: 's' }] },
  ])('takes the tool choice %j', (tool_choice) => {
    expect(check({ tool_choice })).toEqual([]);
  });
});

describe('model and input', () => {
  it('needs a model, in `model` or in `models`', () => {
    expect(checkRequest({ input: 'hi' }).map((issue) => issue.path)).toEqual(['model']);
    expect(checkRequest({ input: 'hi', models: [] }).map((issue) => issue.path)).toEqual(['model']);
    expect(checkRequest({ input: 'hi', models: ['m'] })).toEqual([]);
  });

  it.each<[string, object]>([
    ['missing', { input: undefined }],
    ['an empty string', { input: '' }],
    ['an empty list', { input: [] }],
  ])('refuses an input that is %s', (_, fields) => {
    expect(paths(fields)).toEqual(['input']);
    expect(check({ ...fields, prompt: { id: 'p' } })).toEqual([]);
  });

  it('takes a conversation of empty messages, which some servers accept', () => {
    expect(
      check({
        input: [
          { role: 'system', content: '' },
          { role: 'user', content: [] },
        ],
      }),
    ).toEqual([]);
  });

  it('takes an empty message beside one with content', () => {
    expect(check({ input: [{ role: 'user', content: null }, user] })).toEqual([]);
  });
});

describe('rules between items', () => {
  const update = { type: 'configuration_update', reasoning: { effort: 'low' } };
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', subagent_id: 'worker' };

  it('refuses two adjacent configuration_update items', () => {
    expect(check({ input: [update, user, update, user] })).toEqual([]);
    expect(paths({ input: [update, update, user] })).toEqual(['input[1]']);
  });

  it('refuses a subagent_id that matches no subagent item', () => {
    const worker = { type: 'router:subagent', status: 'in_progress', call_id: 'worker' };
    expect(check({ input: [user, worker, call] })).toEqual([]);
    expect(paths({ input: [user, { ...worker, call_id: 'other' }, call] })).toEqual(['input[2].subagent_id']);
  });
});

describe('rules between tools', () => {
  const tool = (name: string, fields: object = {}) => ({ type: 'function', name, parameters: null, ...fields });
  const deferred = tool('late', { defer_loading: true });
  const search = { type: 'router:tool_search' };

  it.each(['router:advisor', 'router:subagent'])('takes one unnamed %s at most, and unique trimmed names', (type) => {
    const instances = (...names: (string | undefined)[]) => ({
      tools: names.map((name) => (name === undefined ? { type } : { type, parameters: { name } })),
    });
    expect(check(instances('a', 'b', undefined))).toEqual([]);
    expect(paths(instances(undefined, undefined))).toEqual(['tools[1].parameters.name']);
    expect(paths(instances('a', ' a '))).toEqual(['tools[1].parameters.name']);
  });

  it('lets a subagent inherit the functions that there are', () => {
    const inherit = (...inherited_function_names: string[]) => ({
      tools: [tool('f'), { type: 'router:subagent', parameters: { inherited_function_names } }],
    });
    expect(check(inherit('f'))).toEqual([]);
    expect(paths(inherit('f', 'g'))).toEqual(['tools[1].parameters.inherited_function_names[1]']);
    expect(paths(inherit(' '))).toEqual(['tools[1].parameters.inherited_function_names[0]']);
    const all = { inherit_functions: true, inherited_function_names: ['g'] };
    expect(check({ tools: [{ type: 'router:subagent', parameters: all }] })).toEqual([]);
  });

  it('needs tool search for defer_loading', () => {
    expect(check({ tools: [tool('f'), deferred, search] })).toEqual([]);
    expect(check({ tools: [deferred, { type: 'tool_search' }] })).toEqual([]);
    expect(paths({ tools: [tool('f'), deferred] })).toEqual(['tools[1].defer_loading']);
    const group = { type: 'namespace', name: 'n', description: '', tools: [tool('a'), deferred] };
    expect(paths({ tools: [group] })).toEqual(['tools[0].tools[1].defer_loading']);
  });

  it('leaves defer_loading on all tools to the check of the meaning', () => {
    expect(check({ tools: [deferred] })).toEqual([]);
  });

  it.each([
    undefined,
    'auto',
    { type: 'allowed_tools', mode: 'auto', tools: [] },
  ])('takes the tool choice %j beside tool search', (tool_choice) => {
    expect(check({ tools: [search], tool_choice })).toEqual([]);
  });

  it.each([
    'none',
    'required',
    { type: 'function', name: 'f' },
  ])('refuses the tool choice %j beside tool search', (tool_choice) => {
    expect(paths({ tools: [search, tool('f')], tool_choice })).toEqual(['tool_choice']);
  });
});

describe('any JSON', () => {
  const known = fc.constantFrom(
    'model',
    'input',
    'tools',
    'plugins',
    'provider',
    'tool_choice',
    'text',
    'metadata',
    'reasoning',
    'prompt',
    'type',
    'role',
    'content',
    'id',
    'parameters',
    'name',
    '__proto__',
    'constructor',
    'stop_server_tools_when',
  );
  const word = fc.constantFrom(
    'message',
    'function',
    'function_call_output',
    'router:subagent',
    'namespace',
    'additional_tools',
    'auto-router',
    'input_file',
    'configuration_update',
    'allowed_tools',
    'user',
    'assistant',
    'router:tool_search',
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom(null, true, 0, 1.5, Number.POSITIVE_INFINITY, ''),
      word,
      fc.string(),
      fc.array(tie('value'), { maxLength: 4 }),
      tie('object'),
    ),
    object: fc.array(fc.tuple(fc.oneof(known, known, fc.string()), tie('value')), { maxLength: 6 }).map((entries) => {
      // JSON.parse defines own keys, also `__proto__`.
      const fields = entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
      return JSON.parse(`{${fields.join(',')}}`) as unknown;
    }),
  }));

  it('never makes the check throw, and a body without a shape never passes', () => {
    fc.assert(
      fc.property(fc.oneof(json.object, json.value, fc.jsonValue()), (body) => {
        for (const issue of checkRequest(body)) expect(issue.message).toMatch(/^(`.+`|The body) [\s\S]+[.?]$/u);
        expect(Object.prototype).not.toHaveProperty('model');
      }),
      { numRuns: 2000 },
    );
  });
});
