import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditOf, book, type Json, main, manage, other } from '../../tests/api/manage.ts';
import { type TestGateway, testGateway } from '../testing/index.ts';
import { runCli } from './program.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway?.close());

/** Beside the running gateway, on its store. */
/** Commands that print one object of the API. These tests read it. */
const printsObject =
  /^(?:(?:guardrails|workspaces) (?:show|create|update)|guardrails test|files upload|presets (?:show|save|update))$/;
async function call(...args: string[]) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const source = ['--config', join(gateway.dataDir, 'test.json'), '--data', gateway.dataDir];
  const terminal = { stdout: write('stdout'), stderr: write('stderr'), env: {}, cwd: gateway.dataDir };
  const asked = printsObject.test(args.slice(0, 2).join(' ')) ? [...args, '--json'] : args;
  const code = await runCli([...asked, ...source], terminal);
  return { code, ...printed };
}
/** Runs a command that warns of nothing. @returns its data */
async function succeed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(sentence) });
  return stdout;
}
/** The text of a command about a change, or about an empty list. */
const sentence = /^(?:(?:Created|Changed|Deleted|Saved|Stored|There are no|BYOK costs) .*\n)?$/;
/** Runs a command that only says what it did. */
async function say(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  return stderr;
}
/** Runs a command that warns of these names, as `allowed_models: "acme/*"`. */
async function keep(names: readonly string[], ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call('guardrails', ...args);
  expect({ code, lines: stderr.trimEnd().split('\n') }).toEqual({
    code: 0,
    lines: [
      ...names.map((name) => expect.stringContaining(`matches ${name.split(': ')[1]} yet`)),
      expect.stringMatching(/^(?:Created|Changed) the guardrail/),
    ],
  });
  return stdout;
}
async function refuse(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}
const statusOf = async (model: string) => (await gateway.post('/responses', { model, input: 'x' })).status;

describe('headgate guardrails', () => {
  it('creates, assigns, changes, unassigns and deletes one, and the running gateway follows', async () => {
    const made: Json = JSON.parse(
      await keep(
        ['allowed_models: "acme/*"'],
        'create',
        '--name',
        'interns',
        '--workspace',
        'main',
        '--allow-model',
        'acme/*',
      ),
    );
    expect((await ask('GET', `/guardrails/${made.id}`)).body.data).toEqual(made);
    expect(made).toMatchObject({ name: 'interns', workspace_id: main, allowed_models: ['acme/*'] });
    expect((await auditOf(ask, 1))[0]).toMatchObject({ action: 'guardrail.create', actor_key_hash: null });

    expect(await succeed('guardrails', 'assign', 'interns', '--key', 'app')).toBe('assigned_count  1\n');
    await expect.poll(() => statusOf('simulator/echo')).toBe(403);
    expect(await succeed('guardrails', 'assign', 'interns', '--key', 'app', '--member', 'ada')).toBe(
      'assigned_count  0\nassigned_count  1\n',
    );
    const shown: Json = JSON.parse(await succeed('guardrails', 'show', made.id.slice(0, 8)));
    expect(shown).toEqual((await ask('GET', `/guardrails/${made.id}`)).body.data);
    const list = async (...args: string[]): Promise<Json> =>
      JSON.parse(await succeed('guardrails', ...args, 'interns', '--json'));
    expect(await list('assignments', 'keys')).toMatchObject([{ key_name: 'app' }]);
    expect(await list('assignments', 'members')).toMatchObject([{ user_id: 'ada' }]);
    await succeed('guardrails', 'update', 'interns', '--limit', '5', '--limit-reset', 'daily');
    expect(await list('budgets')).toMatchObject({
      data: [
        { key_name: 'app', usage_usd: 0, limit_remaining_usd: 5 },
        { user_id: 'ada', limit_usd: 5, reset_interval: 'daily' },
      ],
    });
    expect(await succeed('guardrails', 'budgets', 'interns')).toMatch(
      /^KEY +LABEL +MEMBER +LIMIT +SPENT +LEFT +RESETS\napp +\S+ +- +\$5\.00 +\$0 +\$5\.00 +in \d+ (?:h|min)\n/,
    );
    await succeed('guardrails', 'update', 'interns', '--limit', 'none');

    const update = ['update', 'interns', '--allow-model', 'none', '--ignore-provider', 'x'];
    const changed = await keep(['ignored_providers: "x"'], ...update);
    expect(JSON.parse(changed)).toMatchObject({ allowed_models: null, ignored_providers: ['x'] });
    await expect.poll(() => statusOf('simulator/echo')).toBe(200);
    expect(await succeed('guardrails', 'list')).toMatch(
      /NAME +WORKSPACE +ID +RULES\ninterns +main +[0-9a-f-]{36} +ignore-provider x\n/,
    );

    const taken = await succeed('guardrails', 'unassign', 'interns', '--key', 'app', '--member', 'ada');
    expect(taken).toBe('unassigned_count  1\nunassigned_count  1\n');
    expect(await say('guardrails', 'delete', 'interns')).toBe('Deleted the guardrail "interns".\n');
    expect((await ask('GET', `/guardrails/${made.id}`)).status).toBe(404);
  });

  it('warns of unknown names, with the nearest, and stores them', async () => {
    const lists = ['--allow-model', 'simulator/any', 'simulater/*', 'simulator/*', '--allow-provider', 'simulatr'];
    const { code, stdout, stderr } = await call('guardrails', 'create', '--name', 'odd', ...lists);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ allowed_models: lists.slice(1, 4), allowed_providers: ['simulatr'] });
    const tell = (field: string, name: string, kind: string, nearest: string) =>
      `headgate: ${field}: no ${kind} of this gateway matches "${name}" yet; the nearest name is ${nearest}. It is saved anyway.\n`;
    expect(stderr).toBe(
      tell('allowed_models', 'simulater/*', 'model', 'simulator/*') +
        tell('allowed_providers', 'simulatr', 'provider', 'simulator') +
        'Created the guardrail "odd".\n',
    );
    await succeed('guardrails', 'update', 'odd', '--name', 'odder'); // names no model: nothing is looked up
    await succeed('guardrails', 'delete', 'odder');
  });

  it('changes the default one of a workspace, and lists every rule', async () => {
    expect(await say('guardrails', 'list', '--workspace', 'other')).toContain('There are no guardrails.');
    const rules = ['--zdr', 'openai', 'other', '--forbid', 'free-training', 'free-publication'];
    const written: Json = JSON.parse(await succeed('guardrails', 'update', 'default:other', ...rules));
    expect(written).toMatchObject({
      enforce_zdr_openai: true,
      enforce_zdr_other: true,
      enforce_zdr_google: null,
      enable_free_model_training: false,
      enable_paid_model_training: null,
      enable_free_model_publication: false,
    });
    const listed = await succeed('guardrails', 'list', '--workspace', 'other');
    expect(listed).toContain(
      'enforce-zdr-openai; enforce-zdr-other; enable-free-model-training false; enable-free-model-publication false',
    );
    expect(listed).toMatch(/Default +other +/);
    expect(JSON.parse(await succeed('guardrails', 'list', '--workspace', 'other', '--json'))).toEqual([written]);
    const less = await succeed('guardrails', 'update', 'default:other', '--zdr', 'all', '--forbid', 'none');
    expect(JSON.parse(less)).toMatchObject({ enforce_zdr: true, enable_free_model_training: null });
    const budget = ['--zdr', 'none', '--limit', '0.50', '--limit-reset', 'weekly', '--include-byok'];
    expect(JSON.parse(await succeed('guardrails', 'update', 'default:other', ...budget))).toMatchObject({
      enforce_zdr: null,
      limit_usd: 0.5,
      reset_interval: 'weekly',
      include_byok_in_budgets: true,
    });
    expect(await succeed('guardrails', 'list')).toContain('limit $0.50; limit-reset weekly');
    expect(JSON.parse(await succeed('guardrails', 'update', 'default:other', '--limit', 'none'))).toMatchObject({
      limit_usd: null,
      reset_interval: null,
    });
    await succeed('guardrails', 'delete', 'default:other');
  });

  it.each([
    [['update', 'missing', '--name', 'x'], 'There is no guardrail "missing"'],
    [['update', 'default:nowhere', '--name', 'x'], 'There is no workspace "nowhere"'],
    [['update', 'default:main'], 'Nothing would change'],
    [['assign', 'default:main'], 'Give --key, --member, or both.'],
    [['assign', 'default:main', '--key', 'app'], 'holds for all its keys'],
    [['assign', 'default:main', '--key', 'nokey'], 'No key has the hash, prefix or name "nokey"'],
    [['create', '--name', 'x', '--workspace', 'nowhere'], 'There is no workspace "nowhere"'],
    [['create', '--name', 'x', '--allow-model', 'router/auto'], 'allowed_models[0]: '],
    [['create', '--name', 'x', '--zdr', 'opnai'], '--zdr opnai: give anthropic, openai'],
    [['create', '--name', 'x', '--zdr', 'all', 'openai'], 'all and none cannot be combined'],
    [['create', '--name', 'x', '--limit', '5'], '`reset_interval` is missing beside `limit_usd`'],
    [['create', '--name', 'x', '--limit', 'much'], '--limit much: give a number'],
    [['create', '--name', 'x', '--forbid', 'training'], '--forbid training: give paid-training'],
    [['create'], 'A required option is missing:\n  --name <text>  display name\n'],
  ])('rejects %j', async (args, message) => {
    expect(await refuse('guardrails', ...args)).toContain(message);
  });

  it('rejects an ambiguous name with the ids', async () => {
    for (let count = 0; count < 2; count++) await succeed('guardrails', 'create', '--name', 'twin');
    expect(await refuse('guardrails', 'delete', 'twin')).toMatch(/matches several guardrails; give the id: /);
  });
});

describe('headgate guardrails with content filters', () => {
  const create = async (...args: string[]): Promise<Json> => JSON.parse(await succeed('guardrails', 'create', ...args));

  it('creates built-in filters by action, and the running gateway applies them', async () => {
    const made = await create(
      ...['--name', 'pii', '--redact', 'email', 'phone', '--block', 'regex-prompt-injection'],
      ...['--scan-scope', 'user_only', '--apply-to', 'input'],
    );
    expect(made.content_filter_builtins).toEqual([
      { slug: 'email', action: 'redact', label: 'Email address', apply_to: ['input'] },
      { slug: 'phone', action: 'redact', label: 'Phone number', apply_to: ['input'] },
      {
        slug: 'regex-prompt-injection',
        action: 'block',
        label: 'Prompt injection',
        scan_scope: 'user_only',
        apply_to: ['input'],
      },
    ]);
    expect(await succeed('guardrails', 'list')).toMatch(
      /pii.* content-filter-builtins redact email redact phone block regex-prompt-injection/,
    );
    await succeed('guardrails', 'update', 'pii', '--redact', 'email', '--apply-to', 'output');
    expect(await succeed('guardrails', 'list')).toContain('redact email (output)');
    await succeed('guardrails', 'update', 'pii', '--filters', 'none');
    expect(await succeed('guardrails', 'show', 'pii')).toContain('"content_filter_builtins": null');
  });

  it('reads filters from a YAML file, beside built-in ones', async () => {
    writeFileSync(
      join(gateway.dataDir, 'filters.yaml'),
      'content_filters:\n  - { pattern: "apollo-\\\\d+", action: block, label: Projects, apply_to: [input, output] }\n',
    );
    const made = await create('--name', 'projects', '--filters', 'filters.yaml', '--flag', 'email');
    expect(made).toMatchObject({
      content_filters: [{ pattern: 'apollo-\\d+', action: 'block', label: 'Projects', apply_to: ['input', 'output'] }],
      content_filter_builtins: [{ slug: 'email', action: 'flag' }],
    });
  });

  it('test shows what a guardrail or a file finds and does, and stores nothing', async () => {
    await create('--name', 'mail', '--redact', 'email', '--block', 'ssn');
    const test = async (...args: string[]): Promise<Json> => JSON.parse(await succeed('guardrails', 'test', ...args));
    expect(await test('--guardrail', 'mail', '--text', 'Write to jane@example.com.')).toEqual({
      action: 'redacted',
      text: 'Write to [EMAIL].',
      error: null,
      findings: [
        {
          slug: 'email',
          pattern: null,
          label: 'Email address',
          action: 'redact',
          id: 'EMAIL',
          start: 9,
          end: 25,
        },
      ],
      skipped: null,
    });
    expect(await test('--guardrail', 'mail', '--text', '123-45-6789')).toMatchObject({
      action: 'blocked',
      text: null,
      error: { code: 403, message: 'Request blocked by content filter: Social Security number' },
    });
    expect(await test('--guardrail', 'mail', '--text', 'Hello', '--kind', 'output')).toEqual({
      action: 'passed',
      text: 'Hello',
      error: null,
      findings: [],
      skipped: null,
    });
    writeFileSync(join(gateway.dataDir, 'mine.json'), '{"content_filters": [{"pattern": "b+", "action": "flag"}]}');
    expect(await test('--file', 'mine.json', '--text', 'abba')).toMatchObject({
      action: 'flagged',
      text: 'abba',
      findings: [{ slug: null, pattern: 'b+', label: null, id: null, start: 1, end: 3 }],
    });
  });

  it.each([
    [['create', '--name', 'n', '--block', 'mail'], 'content_filter_builtins[0].slug'],
    [['create', '--name', 'n', '--block', 'person-name'], 'set guardrails.analyzer_url in the configuration'],
    [
      ['create', '--name', 'n', '--apply-to', 'output'],
      '--apply-to applies to filters of --flag, --redact and --block',
    ],
    [['create', '--name', 'n', '--filters', 'missing.yaml'], 'missing.yaml: '],
    [['create', '--name', 'n', '--filters', 'bad.yaml'], 'Lookahead'],
    [['create', '--name', 'n', '--filters', 'both.yaml', '--flag', 'email'], 'already has built-in filters'],
    [['create', '--name', 'n', '--filters', 'other.yaml'], 'has neither content_filters nor content_filter_builtins'],
    [['test', '--text', 'x'], 'Give either --guardrail or --file'],
    [['test', '--text', 'x', '--file', 'bad.yaml'], 'Lookahead'],
    [['test', '--text', 'x', '--guardrail', 'nothing'], 'There is no guardrail "nothing"'],
  ])('guardrails %j is refused', async (args, says) => {
    const files = {
      'bad.yaml': 'content_filters: [{ pattern: "(?=a)b", action: flag }]',
      'both.yaml': 'content_filter_builtins: [{ slug: email, action: flag }]',
      'other.yaml': 'filters: []',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(gateway.dataDir, name), text);
    expect(await refuse('guardrails', ...args)).toContain(says);
  });
});

describe('headgate keys', () => {
  it('creates a management key beside several workspaces, which works at the running gateway', async () => {
    const { code, stdout, stderr } = await call('keys', 'create', '--management', '--name', 'second admin');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Created the management key') });
    const list = () => ask('GET', '/keys', undefined, stdout.trim());
    await expect.poll(async () => (await list()).status).toBe(200);
    await succeed('keys', 'delete', 'second admin');
  });

  it.each([
    [['create'], 'Name the workspace of the key, one of main, other.'],
    [['create', '--workspace', 'main', '--name', 'x'.repeat(257)], 'name: '],
    [['create', '--workspace', 'main', '--member', ''], 'creator_user_id: '],
    [['update', 'app', '--name', ''], 'name: '],
  ])('checks %j as the management API does', async (args, message) => {
    expect(await refuse('keys', ...args)).toContain(message);
  });
});

describe('headgate workspaces', () => {
  it('creates, changes, lists and deletes one', async () => {
    const made: Json = JSON.parse(await succeed('workspaces', 'create', '--name', 'Größe 1', '--description', 'd'));
    expect(made).toMatchObject({ name: 'Größe 1', slug: 'grosse-1', description: 'd' });
    expect((await ask('GET', '/workspaces/grosse-1')).body.data).toEqual(made);
    const changed = await succeed(
      'workspaces',
      'update',
      'grosse-1',
      '--name',
      'Big',
      '--io-logging',
      '--io-sampling',
      '0.5',
    );
    expect(JSON.parse(changed)).toMatchObject({
      name: 'Big',
      slug: 'grosse-1',
      is_observability_io_logging_enabled: true,
      io_logging_sampling_rate: 0.5,
    });
    const off = await succeed('workspaces', 'update', 'Big', '--no-io-logging', '--description', 'none');
    expect(JSON.parse(off)).toMatchObject({ is_observability_io_logging_enabled: false, description: null });
    expect(await succeed('workspaces', 'list')).toMatch(/\nBig +grosse-1 +\d{4}-\d\d-\d\d +[0-9a-f-]{36}\n/);
    expect(JSON.parse(await succeed('workspaces', 'list', '--json'))).toEqual(
      (await ask('GET', '/workspaces')).body.data,
    );
    expect(await say('workspaces', 'delete', 'Big')).toBe('Deleted the workspace "Big".\n');
    expect((await ask('GET', '/workspaces/grosse-1')).status).toBe(404);
    expect((await auditOf(ask, 1))[0]).toMatchObject({ action: 'workspace.delete', actor_key_hash: null });
  });

  it('stores, lists and deletes files beside the running gateway', async () => {
    const place = ['--workspace', 'main'];
    writeFileSync(join(gateway.dataDir, 'cities.csv'), 'city\n');
    expect(await say('files', 'list', ...place)).toContain('There are no files');
    const stored: Json = JSON.parse(await succeed('files', 'upload', 'cities.csv', ...place));
    expect(stored).toMatchObject({ filename: 'cities.csv', mime_type: 'text/csv', size_bytes: 5, downloadable: false });
    const named: Json = JSON.parse(
      await succeed('files', 'upload', 'cities.csv', '--name', 'reports/all.csv', '--workspace', 'other'),
    );
    expect(named.filename).toBe('reports/all.csv');
    expect(await (await gateway.get('/files')).json()).toMatchObject({ data: [stored] });
    expect(await succeed('files', 'list', ...place)).toMatch(/file_w\w+ +cities\.csv +text\/csv +5 /);
    expect(JSON.parse(await succeed('files', 'list', '--json', ...place))).toEqual([stored]);
    expect((await auditOf(ask, 2)).map(({ action, actor_key_hash: key }) => [action, key])).toEqual([
      ['file.create', null],
      ['file.create', null],
    ]);

    writeFileSync(join(gateway.dataDir, 'program'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]));
    expect(await refuse('files', 'upload', 'program', ...place)).toContain('is not accepted; PDF');
    expect(await refuse('files', 'upload', 'missing.txt', ...place)).toContain('There is no file');
    expect(await refuse('files', 'rm', named.id, ...place)).toContain('There is no file');
    expect(await say('files', 'rm', stored.id, ...place)).toBe(`Deleted the file "${stored.id}".\n`);
    expect(await (await gateway.get('/files')).json()).toMatchObject({ data: [] });
  });

  it('keeps presets, which the running gateway uses', async () => {
    const place = ['--workspace', 'main'];
    const file = join(gateway.dataDir, 'preset.json');
    const save = (body: object) => {
      writeFileSync(file, JSON.stringify(body));
      return call('presets', 'save', 'brief', ...place, '--body', file);
    };
    expect(await say('presets', 'list', ...place)).toContain('There are no presets');
    const made = await save({ model: 'simulator/echo', temperature: 0.5, instructions: 'Brief.', input: 'x', odd: 1 });
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('left out: odd') });
    expect(JSON.parse(made.stdout).designated_version).toMatchObject({
      version: 1,
      config: { model: 'simulator/echo', temperature: 0.5 },
      system_prompt: 'Brief.',
    });
    const temperature = async (): Promise<unknown> =>
      ((await (await gateway.post('/responses', { preset: 'brief', input: 'x' })).json()) as Json).temperature;
    await expect.poll(temperature).toBe(0.5);

    await save({ model: 'simulator/echo', temperature: 1 });
    await succeed('presets', 'update', 'brief', ...place, '--use-version', '1', '--name', 'Brief answers');
    expect(await succeed('presets', 'list', ...place)).toMatch(/brief +Brief answers +active +/);
    expect(JSON.parse(await succeed('presets', 'list', '--json'))).toMatchObject([{ slug: 'brief' }]); // the default workspace
    expect(JSON.parse(await succeed('presets', 'show', 'brief', ...place))).toMatchObject({
      designated_version: { version: 1 },
    });
    writeFileSync(join(gateway.dataDir, 'body.json'), JSON.stringify({ model: '@preset/brief', input: 'x' }));
    const explained = await succeed('explain', '--workspace', 'main', '--body', join(gateway.dataDir, 'body.json'));
    expect(explained).toContain('simulator/echo');

    for (const [args, says] of [
      [['update', 'brief', ...place], 'Nothing would change'],
      [['update', 'brief', ...place, '--status', 'gone'], 'status'],
      [['update', 'brief', ...place, '--use-version', '7'], 'has no version 7'],
      [['show', 'other', ...place], 'no preset with the slug other'],
      [['show', 'brief', '--workspace', 'nowhere'], 'no workspace "nowhere"'],
      [['save', 'Bad Slug', ...place, '--body', file], 'slug'],
      [['save', 'brief', ...place, '--body', 'missing.json'], 'missing.json'],
    ] as const) {
      expect(await call('presets', ...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
    }
    expect(await say('presets', 'delete', 'brief', ...place)).toBe('Deleted the preset "brief".\n');
  });

  it('saves plugins and disables server tools, and the running gateway follows', async () => {
    const status = async (body: object) =>
      (await gateway.post('/responses', { model: 'simulator/echo', input: 'x', ...body })).status;
    const saved = '[{"id": "response-healing", "prevent_overrides": true}]';
    const update = ['workspaces', 'update', 'main'];
    const changed = await succeed(
      ...update,
      ...['--default-plugins', saved, '--disable-server-tools', 'router:bash', 'router:web_search'],
    );
    expect(JSON.parse(changed)).toMatchObject({
      default_plugins: JSON.parse(saved),
      disabled_server_tools: ['router:bash', 'router:web_search'],
    });
    await expect.poll(() => status({ tools: [{ type: 'router:bash' }] })).toBe(403);
    expect(await call(...update, '--default-plugins', '[{]')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--default-plugins: give JSON, or none.'),
    });
    expect(await call(...update, '--default-plugins', '[{"id": "nothing"}]')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('default_plugins[0].id'),
    });
    const none = await succeed(...update, '--default-plugins', 'none', '--disable-server-tools', 'none');
    expect(JSON.parse(none)).toMatchObject({ default_plugins: null, disabled_server_tools: null });
    await expect.poll(() => status({ tools: [{ type: 'router:bash' }] })).not.toBe(403);
  });

  it('sets defaults of requests, and the running gateway follows', async () => {
    const model = async () => {
      const answer = (await (await gateway.post('/responses', { input: 'x' })).json()) as Json;
      return answer.model ?? answer.error.code;
    };
    const settings = { text: '--default-text-model', image: '--default-image-model', sort: '--default-provider-sort' };
    expect(await model()).toBe(400);
    const changed = await succeed(
      'workspaces',
      'update',
      'main',
      settings.text,
      'simulator/echo',
      settings.image,
      'simulator/image',
      settings.sort,
      'price',
    );
    expect(JSON.parse(changed)).toMatchObject({
      default_text_model: 'simulator/echo',
      default_image_model: 'simulator/image',
      default_provider_sort: 'price',
    });
    await expect.poll(model).toBe('simulator/echo');
    const { code, stdout, stderr } = await call('workspaces', 'update', 'main', settings.text, 'router/aut');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).default_text_model).toBe('router/aut');
    expect(stderr).toBe(
      'headgate: default_text_model: no model of this gateway matches "router/aut" yet; the nearest name is router/auto. It is saved anyway.\nChanged the workspace "main".\n',
    );
    const none = [settings.text, 'none', settings.image, 'none', settings.sort, 'none'];
    expect(JSON.parse(await succeed('workspaces', 'update', 'main', ...none))).toMatchObject({
      default_text_model: null,
      default_image_model: null,
      default_provider_sort: null,
    });
    await expect.poll(model).toBe(400);
  });

  it('sets and removes budgets, all or none', async () => {
    expect(await say('workspaces', 'budgets', 'other')).toBe('"other" has no budget.\n');
    const set = await succeed('workspaces', 'budgets', 'other', '--set', 'monthly=100', 'daily=0.5', '--include-byok');
    expect(set).toMatch(
      /^INTERVAL +LIMIT +SPENT +LEFT +RESETS\nmonthly +\$100\.00 +\$0 +\$100\.00 +in \d+ (?:d|h|min)\n/,
    );
    expect(set).toMatch(/\ndaily +\$0\.50 +\$0 +\$0\.50 +in \d+ (?:h|min)\n$/);
    await book(gateway, { workspaceId: other, createdAtMs: Date.now(), costNanoUsd: 200_000_000n });
    expect(await succeed('workspaces', 'budgets', 'other')).toMatch(/\ndaily +\$0\.50 +\$0\.20 +\$0\.30 /);
    const wrong = await refuse('workspaces', 'budgets', 'other', '--remove', 'daily', '--set', 'weekly=200');
    expect(wrong).toContain('must be less than the monthly budget of 100 USD');
    expect((await ask('GET', '/workspaces/other/budgets')).body.data).toHaveLength(2);
    const left = await succeed('workspaces', 'budgets', 'other', '--remove', 'monthly', '--set', 'weekly=200');
    expect(left).toMatch(/\nweekly +\$200\.00 +\$0\.20 +\$199\.80 .*\ndaily +\$0\.50 /);
    await say('workspaces', 'budgets', 'other', '--remove', 'weekly', 'daily', '--no-include-byok');
  });

  it('sets budgets that fit one another in any order, whatever they replace', async () => {
    const sums = async () =>
      Object.fromEntries(
        (await ask('GET', '/workspaces/other/budgets')).body.data.map((one: Json) => [
          one.reset_interval,
          one.limit_usd,
        ]),
      );
    const set = (...asked: string[]) => ['workspaces', 'budgets', 'other', '--set', ...asked] as const;
    await succeed(...set('daily=0.1', 'monthly=0.9'));
    await succeed(...set('daily=5', 'weekly=50', 'monthly=100'));
    expect(await sums()).toEqual({ daily: 5, weekly: 50, monthly: 100 });
    await succeed(...set('monthly=3', 'daily=1', 'weekly=2'));
    expect(await sums()).toEqual({ daily: 1, weekly: 2, monthly: 3 });
    expect(await refuse(...set('daily=7', 'weekly=6', 'monthly=5'))).toContain(
      'limit_usd: `limit_usd` must be more than the daily budget of 7 USD, got 6.',
    );
    expect(await refuse(...set('daily=1.5', 'weekly=9'))).toContain(
      'must be less than the monthly budget of 3 USD, got 9',
    );
    expect(await refuse(...set('daily=1.5', 'daily=1.6'))).toContain('--set daily: give each interval once.');
    expect(await sums()).toEqual({ daily: 1, weekly: 2, monthly: 3 });
    await say('workspaces', 'budgets', 'other', '--remove', 'daily', 'weekly', 'monthly');
  });

  it('adds and removes members', async () => {
    expect(await say('workspaces', 'members', 'other')).toContain('There are no members.');
    const added = await succeed('workspaces', 'members', 'other', '--add', 'cleo', 'dan');
    expect(added).toMatch(/^MEMBER +ROLE +SINCE\ncleo +member +\d{4}-.*\ndan +member +\d{4}-.*\n$/);
    expect(await succeed('workspaces', 'members', 'other', '--remove', 'cleo')).not.toContain('cleo');
  });

  it.each([
    [['update', 'nowhere', '--name', 'x'], 'There is no workspace "nowhere"; see "headgate workspaces list".'],
    [['update', 'main'], 'Nothing would change'],
    [['update', 'main', '--name', 'other'], 'belongs to another workspace: "other"'],
    [['update', 'main', '--io-sampling', 'half'], '--io-sampling half: give a number'],
    [['update', 'main', '--default-provider-sort', 'cheap'], 'default_provider_sort'],
    [['create', '--name', 'main', '--slug', 'A b'], 'must be lower-case letters'],
    [['delete', 'main'], 'is the default workspace; send --confirm-default'],
    [['delete', 'main', '--confirm-default'], 'The workspace "main" has 2 keys'],
    [['budgets', 'main', '--set', 'monthly'], '--set monthly: give an interval and a sum in USD'],
    [['budgets', 'main', '--set', 'yearly=5'], '"yearly" is not one of daily, weekly, monthly, lifetime.'],
    [['budgets', 'main', '--set', 'daily=0'], 'limit_usd'],
    [['budgets', 'main', '--remove', 'daily'], 'The workspace "main" has no daily budget.'],
    [['members', 'main', '--remove', 'ada'], '"ada" has a key in this workspace'],
  ])('rejects %j', async (args, message) => {
    expect(await refuse('workspaces', ...args)).toContain(message);
  });

  it('warns that the configuration restores it', async () => {
    const { code, stderr } = await call('workspaces', 'update', 'other', '--name', 'another');
    expect(code).toBe(0);
    expect(stderr).toContain('It is in bootstrap.workspaces: change it there, too');
    await call('workspaces', 'update', 'another', '--name', 'other');
  });
});

describe('headgate explain', () => {
  it('prints for a workspace what the running gateway does with a request of its key', async () => {
    const provider = (id: string, usd: number) => ({
      id,
      name: id,
      wire: 'simulator',
      models: [{ model: 'acme/one', upstream_model: 'echo', pricing: { prompt: usd / 1e6, completion: usd / 1e6 } }],
    });
    const own = await testGateway({ providers: [provider('dear', 9), provider('cheap', 1), provider('middle', 5)] });
    const sources = ['--config', join(own.dataDir, 'test.json'), '--data', own.dataDir];
    const run = async (...args: string[]) => {
      let stdout = '';
      const terminal = {
        stdout: { write: (text: string) => (stdout += text) },
        stderr: { write: () => true },
        env: {},
        cwd: own.dataDir,
      };
      expect([args, await runCli([...args, ...sources], terminal)]).toEqual([args, 0]);
      return stdout;
    };
    try {
      const defaults = ['--default-text-model', 'acme/one', '--default-provider-sort', 'price'];
      await run('workspaces', 'update', 'main', ...defaults);
      await run('guardrails', 'update', 'default:main', '--ignore-provider', 'cheap');
      writeFileSync(join(own.dataDir, 'body.json'), JSON.stringify({ input: 'x' }));
      const plan: Json = JSON.parse(await run('explain', '--workspace', 'main', '--body', 'body.json', '--json'));
      expect(plan.endpoints.map(({ provider }: Json) => provider)).toEqual(['middle', 'dear']);
      const headers = { 'x-router-metadata': 'enabled' };
      const look = async () =>
        (await own.post('/responses', { input: 'x' }, { headers })).json().then((body: Json) => body.router_metadata);
      await expect.poll(async () => (await look())?.params?.excluded).toHaveLength(1);
      const metadata = await look();
      expect(metadata).toMatchObject({ requested: plan.requested, strategy: plan.strategy });
      expect(metadata.params.excluded).toEqual(
        plan.excluded.map(({ provider, model, reason }: Json) => ({ provider, model, reason })),
      );
      expect(metadata.attempts).toMatchObject([{ provider: plan.endpoints[0].provider }]);
    } finally {
      await own.close();
    }
  });
});

describe('headgate budgets', () => {
  it('lists all spending limits, their usage and what is left, the broadest first', async () => {
    const own = await testGateway({ budgets: { organization: { lifetime: 50, daily: 2 }, member: { monthly: 1 } } });
    const sources = ['--config', join(own.dataDir, 'test.json'), '--data', own.dataDir];
    const read = async (...args: string[]) => {
      let stdout = '';
      const terminal = {
        stdout: { write: (text: string) => (stdout += text) },
        stderr: { write: () => true },
        env: {},
      };
      expect(await runCli(['budgets', ...args, ...sources], { ...terminal, cwd: own.dataDir })).toBe(0);
      return stdout;
    };
    const tell = manage(() => own);
    await tell('PUT', '/workspaces/main/budgets/weekly', { limit_usd: 3, include_byok_in_budgets: true });
    const { data } = (await tell('POST', '/keys', { name: 'shop', limit: 0.5, workspace_id: main })).body;
    const { id } = (
      await tell('POST', '/guardrails', { name: 'G', workspace_id: main, limit_usd: 0.25, reset_interval: 'daily' })
    ).body.data;
    await tell('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [data.hash] });
    const spent = { createdAtMs: Date.now(), keyHash: data.hash, memberId: 'ada' };
    await book(own, { ...spent, costNanoUsd: 300_000_000n }, { ...spent, costNanoUsd: 1n, isByok: true });

    const [head, ...rows] = (await read()).trimEnd().split('\n');
    expect(head).toMatch(/^SCOPE +SET BY +INTERVAL +LIMIT +SPENT +LEFT +RESETS$/);
    expect(rows).toEqual([
      expect.stringMatching(/^The organization +budgets.organization +lifetime +\$50\.00 +\$0\.30 +\$49\.70 +never$/),
      expect.stringMatching(
        /^The organization +budgets.organization +daily +\$2\.00 +\$0\.30 +\$1\.70 +in \d+ (?:h|min)$/,
      ),
      expect.stringMatching(/^The workspace "main" +budget of the workspace +weekly +\$3\.00 +\$0\.3000 +\$2\.69 /),
      expect.stringMatching(/^The member "ada" +budgets.member +monthly +\$1\.00 +\$0\.30 +\$0\.70 /),
      expect.stringMatching(
        /^The key "shop" \(sk-rt-v1-\w{3}\.\.\.\w{3}\) +guardrail G +daily +\$0\.25 +\$0\.30 +\$0 /,
      ),
      expect.stringMatching(
        /^The key "shop" \(sk-rt-v1-\w{3}\.\.\.\w{3}\) +limit of the key +lifetime +\$0\.50 +\$0\.30 +\$0\.20 +never$/,
      ),
    ]);
    const printed: Json[] = JSON.parse(await read('--json'));
    expect(printed.at(4)).toEqual({
      kind: 'guardrail',
      name: 'The key "shop"',
      workspace_id: null,
      user_id: null,
      tag: null,
      key_hash: data.hash,
      key_label: data.label,
      key_state: 'active',
      guardrail_id: id,
      limit_usd: 0.25,
      reset_interval: 'daily',
      include_byok: false,
      usage_usd: 0.3,
      limit_remaining_usd: 0,
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
    });
    const { previous, data: next } = (await tell('POST', `/keys/${data.hash}/rotate`)).body;
    const ofKeys = (await read()).split('\n').filter((line) => line.includes('limit of the key'));
    expect(ofKeys.map((line) => line.split(/ {2,}/)[0]).sort()).toEqual(
      [`The key "shop" (${previous.label}, disabled)`, `The key "shop" (${next.label})`].sort(),
    );
    await own.close();
  });

  it('reports that no limit is set', async () => {
    expect(await succeed('budgets')).toBe('No spending limit is set.\n');
  });
});
