import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-explain-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const provider = (id: string, prompt: number, more = '') => `
  - id: ${id}
    wire: openai-chat
    base_url: http://127.0.0.1:9/v1
    ${more}
    models:
      - { model: acme/one, pricing: { prompt: ${prompt / 1e6}, completion: ${prompt / 1e6} }, capabilities: { input: [text] } }`;

/** Runs `headgate explain` on a body. */
const explain = (body: unknown, ...flags: string[]) => explainWith({}, body, ...flags);

/** The same, with other settings of routing and of the provider `dear`. */
async function explainWith(
  parts: { routing?: string; dear?: string; tools?: string },
  body: unknown,
  ...flags: string[]
) {
  const text = `
catalog: { builtin: false, auto_discover: false }
routing: ${parts.routing ?? '{ seed: 7 }'}
tools: ${parts.tools ?? '{}'}
routers: { latest: [{ alias: "~acme/newest-latest", pattern: "acme/*" }] }
providers:${provider('cheap', 1)}${provider('dear', 3, parts.dear ?? 'data_policy: { retains: false, trains: false }')}${provider('own', 9, 'workspace: team')}
`;
  writeFileSync(join(folder, 'headgate.yaml'), text);
  writeFileSync(join(folder, 'body.json'), typeof body === 'string' ? body : JSON.stringify(body));
  const printed: string[] = [];
  const warned: string[] = [];
  const terminal = {
    stdout: { write: (part: string) => printed.push(part) },
    stderr: { write: (part: string) => warned.push(part) },
    env: {},
    cwd: folder,
  };
  const code = await runCli(['explain', '--body', 'body.json', ...flags], terminal);
  return { code, stdout: printed.join(''), stderr: warned.join('') };
}

describe('headgate explain', () => {
  it('prints the endpoints with their prices and how often each comes first', async () => {
    const { code, stdout } = await explain({ model: 'acme/one', input: 'hi' });
    expect(code).toBe(0);
    expect(stdout).toContain('acme/one  strategy direct');
    expect(stdout).toMatch(/cheap +1 +1 +(?:8[89]|9[012])%/);
    expect(stdout).toMatch(/dear +3 +3 +(?:8|9|1[012])%/);
    expect(stdout).not.toContain('own');
  });

  it.each([
    undefined,
    'chat/completions',
    'completions',
    'messages',
  ])('explains a model alone, at the path %s', async (path) => {
    await explain({}); // writes the configuration
    const printed: string[] = [];
    const output = { write: (part: string) => printed.push(part) };
    const args = ['explain', 'acme/one', ...(path === undefined ? [] : ['--path', path])];
    expect(await runCli(args, { stdout: output, stderr: output, env: {}, cwd: folder })).toBe(0);
    expect(printed.join('')).toContain('acme/one  strategy direct');
  });

  it.each([
    ['embeddings', 'simulator/embedding'],
    ['rerank', 'simulator/rerank'],
  ])('explains a model alone, at the path %s', async (path, model) => {
    const printed: string[] = [];
    const output = { write: (part: string) => printed.push(part) };
    expect(
      await runCli(['explain', model, '--path', path], { stdout: output, stderr: output, env: {}, cwd: folder }),
    ).toBe(0);
    expect(printed.join('')).toContain(model);
  });

  it('shows the strategy, the weights and the shares that they make', async () => {
    const body = { model: 'acme/one', input: 'hi' };
    const routing = '{ seed: 7, strategy: weighted }';
    const { stdout } = await explainWith({ routing, dear: 'weight: 3' }, body);
    expect(stdout).toContain('endpoints ordered by the strategy weighted\n');
    expect(stdout).toMatch(/cheap +1 +1 +1 +2[2-8]%/);
    expect(stdout).toMatch(/dear +3 +3 +3 +7[2-8]%/);
    const printed = await explainWith(
      { routing, dear: 'weight: 0' },
      { ...body, provider: { sort: 'price' } },
      '--json',
    );
    const plan = JSON.parse(printed.stdout) as { endpoints: { provider: string; weight: number }[] };
    expect(plan).toMatchObject({ routing_strategy: null, endpoints: [{ weight: 1 }, { weight: 0, first_percent: 0 }] });
  });

  it('shows what the rules of an endpoint change, in the names of the path', async () => {
    const dear = 'dialect: { fields: { temperature: { max: 0.5 } }, stops: { max: 0 } }';
    const body = {
      model: 'acme/one',
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 0.7,
      stop: ['END'],
      provider: { only: ['dear'] },
    };
    const { stdout } = await explainWith({ dear }, body, '--path', 'chat/completions');
    expect(stdout).toMatch(/1 +dear +temperature \(0.7 → 0.5\)/);
    const printed = await explainWith({ dear }, body, '--path', 'chat/completions', '--json');
    const { endpoints } = JSON.parse(printed.stdout) as { endpoints: { rules: string[]; changes: string[] }[] };
    expect(endpoints[0]!.changes).toContain('temperature (0.7 → 0.5)');
    expect(Array.isArray(endpoints[0]!.rules)).toBe(true);
  });

  it('excludes an endpoint whose rules reject the request, and exits with 1 if none is left', async () => {
    const dear = 'dialect: { tools: { supported: false } }';
    const body = { model: 'acme/one', input: 'hi', tools: [{ type: 'function', name: 'f', parameters: {} }] };
    const { code, stdout } = await explainWith({ dear }, body);
    expect(code).toBe(0);
    expect(stdout).toMatch(/1 +acme\/one +cheap +1 +1 +100%/);
    expect(stdout).toMatch(/acme\/one +dear +rejected +tools: acme\/one at dear has no function tools\./);
    const only = { ...body, provider: { only: ['dear'] } };
    const refused = await explainWith({ dear }, only);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/^400 {2}tools: acme\/one at dear has no function tools\./);
    expect(refused.stdout).toMatch(/acme\/one +dear +rejected/);
    const printed = JSON.parse((await explainWith({ dear }, body, '--json')).stdout);
    expect(printed.endpoints).toMatchObject([{ provider: 'cheap', first_percent: 100 }]);
    expect(printed.excluded).toContainEqual(expect.objectContaining({ provider: 'dear', code: 'rejected' }));
  });

  it('names the rules that hold for an endpoint', async () => {
    const dear = 'same_as: mistral';
    const { stdout } = await explainWith(
      { dear },
      { model: 'acme/one', input: 'hi', provider: { only: ['dear'] } },
      '--json',
    );
    const { endpoints } = JSON.parse(stdout) as { endpoints: { rules: string[] }[] };
    expect(endpoints[0]!.rules).toContain('mistral/call-ids');
  });

  it('shows the BYOK endpoint of a workspace first', async () => {
    const { stdout } = await explain({ model: 'acme/one', input: 'hi' }, '--workspace', 'team');
    expect(stdout).toMatch(/1 +acme\/one +own +9 +9 +100%/);
  });

  it('applies the guardrails of a key', async () => {
    const run = async (...args: string[]) => {
      const silent = { write: () => true };
      const code = await runCli(args, { stdout: silent, stderr: silent, env: {}, cwd: folder });
      expect([args, code]).toEqual([args, 0]);
    };
    writeFileSync(join(folder, 'headgate.yaml'), 'catalog: { builtin: false, auto_discover: false }\n');
    await run('keys', 'create', '--name', 'app');
    await run('guardrails', 'create', '--name', 'G', '--ignore-provider', 'cheap');
    await run('guardrails', 'assign', 'G', '--key', 'app');
    const { code, stdout } = await explain({ model: 'acme/one', input: 'hi' }, '--key', 'app');
    expect(code).toBe(0);
    expect(stdout).toMatch(/1 +acme\/one +dear +3 +3 +100%/);
    expect(stdout).toMatch(/cheap +allowed_providers +is forbidden by the guardrail G/);
    const { stderr } = await explain({ model: 'acme/one', input: 'hi' }, '--key', 'app', '--workspace', 'team');
    expect(stderr).toContain('Use either --key or --workspace');
  });

  it('applies the workspace defaults of a key', async () => {
    const silent = { write: () => true };
    const run = async (...args: string[]) => {
      expect([args, await runCli(args, { stdout: silent, stderr: silent, env: {}, cwd: folder })]).toEqual([args, 0]);
    };
    writeFileSync(join(folder, 'headgate.yaml'), 'catalog: { builtin: false, auto_discover: false }\n');
    await run('keys', 'create', '--name', 'app');
    const defaults = ['--default-text-model', 'acme/one', '--default-provider-sort', 'price'];
    await run('workspaces', 'update', 'default', ...defaults);
    const { code, stdout } = await explain({ input: 'hi' }, '--key', 'app');
    expect(code).toBe(0);
    expect(stdout).toContain('names no model. It uses the default_text_model of its workspace, acme/one.\n');
    expect(stdout).toContain('sorted by price, the default of its workspace\n');
    expect(stdout).toMatch(/cheap +1 +1 +100%/);
    expect((await explain({ input: 'hi' })).code).toBe(1);
  });

  it('applies the defaults and the guardrail of a workspace', async () => {
    const silent = { write: () => true };
    const run = async (...args: string[]) => {
      expect([args, await runCli(args, { stdout: silent, stderr: silent, env: {}, cwd: folder })]).toEqual([args, 0]);
    };
    writeFileSync(join(folder, 'headgate.yaml'), 'catalog: { builtin: false, auto_discover: false }\n');
    await run('workspaces', 'create', '--name', 'The team', '--slug', 'team');
    const defaults = ['--default-text-model', 'acme/one', '--default-provider-sort', 'price'];
    await run('workspaces', 'update', 'team', ...defaults);
    for (const named of ['team', 'The team']) {
      const { code, stdout } = await explain({ input: 'hi' }, '--workspace', named);
      expect(code).toBe(0);
      expect(stdout).toContain('It uses the default_text_model of its workspace, acme/one.\n');
      expect(stdout).toContain('sorted by price, the default of its workspace\n');
      expect(stdout).toMatch(/cheap +1 +1 +100%/);
    }
    await run('guardrails', 'update', 'default:team', '--ignore-provider', 'cheap');
    const { stdout } = await explain({ input: 'hi' }, '--workspace', 'team');
    expect(stdout).toMatch(/1 +acme\/one +dear +3 +3 +100%/);
    expect(stdout).toMatch(/cheap +allowed_providers +is forbidden by the default guardrail/);
    const json = JSON.parse((await explain({ input: 'hi' }, '--workspace', 'team', '--json')).stdout);
    expect(json).toMatchObject({ default_text_model: 'acme/one', default_provider_sort: 'price' });
    expect((await explain({ input: 'hi' }, '--workspace', 'tame')).stderr).toBe(
      'headgate: There is no workspace "tame"; see "headgate workspaces list".\n',
    );
  });

  it('continues without the store, and warns', async () => {
    mkdirSync(join(folder, 'data', 'headgate.db'), { recursive: true });
    const { code, stderr } = await explain({ model: 'acme/one', input: 'hi' }, '--workspace', 'team');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^headgate: the settings of the workspace are ignored, because the store cannot be read: .*\n$/,
    );
  });

  it('creates no store to find a key', async () => {
    const { code, stderr } = await explain({ model: 'acme/one', input: 'hi' }, '--key', 'app');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `headgate: There is no store at ${folder}/data/headgate.db yet, so there is no key.\n`,
    });
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('prints why the others are excluded', async () => {
    const { code, stdout } = await explain({ model: 'acme/one', input: 'hi', provider: { zdr: true } });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^EXCLUDED +ENDPOINT +CODE +REASON\nacme\/one +cheap +data_policy:zdr +may retain its inputs/m,
    );
  });

  it('prints the error with the exclusions, and exits with 1', async () => {
    const { code, stdout } = await explain({
      model: 'acme/one',
      input: 'hi',
      provider: { max_price: { prompt: 0.5 } },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^404 {2}No allowed providers are available for the selected model\./);
    expect(stdout).toMatch(/cheap +max_price +costs 1 USD per million input tokens/);
  });

  it('prints what a router chose', async () => {
    const { stdout } = await explain({ model: '~acme/newest-latest', input: 'hi' });
    expect(stdout).toContain('~acme/newest-latest  strategy latest');
    expect(stdout).toContain('resolved_to acme/one');
  });

  it('prints a plan and an error as JSON', async () => {
    const good = JSON.parse((await explain({ model: 'acme/one', input: 'hi' }, '--json')).stdout);
    expect(good).toMatchObject({ requested: 'acme/one', strategy: 'direct', excluded: [] });
    expect(good.endpoints[0]).toMatchObject({ pricing: { prompt: expect.any(String) }, upstream_model: 'acme/one' });
    const refused = JSON.parse((await explain({ model: 'none', input: 'hi' }, '--json')).stdout);
    expect(refused.error).toMatchObject({ code: 400, availability: { code: 'model_not_found' } });
  });

  it.each([
    [{ model: 'router/fusion', plugins: [{ id: 'fusion', model: 'acme/one', analysis_models: ['acme/one', 'none'] }] }],
    [{ model: 'acme/one', plugins: [{ id: 'fusion', analysis_models: ['acme/one', 'none'] }] }],
    [{ model: 'acme/one', tools: [{ type: 'router:fusion', parameters: { analysis_models: ['acme/one', 'none'] } }] }],
  ])('shows the panel of %j', async (body) => {
    const { code, stdout } = await explain({ ...body, input: 'hi' });
    expect(code).toBe(0);
    expect(stdout).toContain('analysis_models acme/one, none');
    expect(stdout).toContain('without_route none\n');
  });

  it.each([
    [{}, 'max_tool_calls 30'],
    [{ max_tool_calls: 4 }, 'max_tool_calls 4'],
    [{ stop_server_tools_when: { type: 'step_count_is', step_count: 2 } }, 'stop_when step_count_is; max_steps 100'],
  ])('shows the server tools and the limits of their loop, with %j', async (body, limits) => {
    const tools = [{ type: 'router:datetime' }, { type: 'function', name: 'own', parameters: {} }];
    const { code, stdout } = await explain({ model: 'acme/one', input: 'hi', tools, ...body });
    expect(code).toBe(0);
    expect(stdout).toContain(`server-tools: tools router:datetime; ${limits}\n`);
  });

  it('rejects server tools that the gateway does not have', async () => {
    const { code, stdout } = await explain({
      model: 'acme/one',
      tools: [{ type: 'router:tool_search' }, { type: 'router:datetme' }],
      input: [
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'router:weather' }] },
        { type: 'message', role: 'user', content: 'hi' },
      ],
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^400 {2}tools\[1\]\.type: .*"router:datetme"; it has `router:datetime`, /);
    expect(stdout).toMatch(/\n {5}input\[0\]\.tools\[0\]\.type: .*"router:weather"/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  });

  it("knows the operator's tools", async () => {
    const tool = "{ type: 'router:weather', description: 'W', arguments: { type: 'object' }, execute: () => ({}) }";
    writeFileSync(join(folder, 'weather.mjs'), `export default ${tool};`);
    const body = { model: 'acme/one', input: 'hi', tools: [{ type: 'router:weather' }, { type: 'router:wether' }] };
    const known = await explainWith({ tools: '{ modules: [./weather.mjs] }' }, { ...body, tools: [body.tools[0]] });
    expect(known).toMatchObject({ code: 0, stderr: '' });
    const { code, stdout } = await explainWith({ tools: '{ modules: [./weather.mjs] }' }, body);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^400 {2}tools\[1\]\.type: .*"router:wether"; it has .*`router:weather`\.\n$/);
  });

  it('says why a panel of the gateway has no route', async () => {
    const { code, stdout } = await explain({ model: 'router/fusion-flash', input: 'hi' });
    expect(code).toBe(1);
    expect(stdout).toContain('no route to any model of the panel of router/fusion-flash');
  });

  it('prints all issues of a body, a line each', async () => {
    const { code, stdout } = await explain({ model: 7, input: 7, stream: 'no' });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^400 {2}(model|input|stream): .*\n {5}(model|input|stream): .*\n {5}(model|input|stream): .*\n$/,
    );
    expect(stdout).not.toContain('error.metadata');
  });

  it.each([
    ['{', /--body body\.json: /],
    [{ model: 'acme/one', input: 7 }, /400 {2}input/],
    [{ model: 'acme/one', input: 'hi', reasoning: { mode: 'pro' } }, /not offered/],
  ])('exits with 1 and prints what is wrong with %j', async (body, says) => {
    const { code, stdout, stderr } = await explain(body);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(says);
  });

  it.each([
    ['none.json', () => `There is no file ${join(folder, 'none.json')}.`],
    ['.', () => 'It is a folder, not a file.'],
    [
      'headgate.yaml/body',
      () => `There is no file ${join(folder, 'headgate.yaml/body')}: part of the path is not a folder.`,
    ],
  ])('cannot read %s', async (file, says) => {
    writeFileSync(join(folder, 'headgate.yaml'), '');
    let stderr = '';
    const terminal = { stdout: { write: () => true }, stderr: { write: (text: string) => (stderr += text) }, env: {} };
    expect(await runCli(['explain', '--body', file], { ...terminal, cwd: folder })).toBe(1);
    expect(stderr).toBe(`headgate: --body ${file}: ${says()}\n`);
  });
});

describe('headgate explain --path', () => {
  it.each([
    ['chat/completions', { messages: [{ role: 'user', content: 'a' }] }],
    ['completions', { prompt: 'a' }],
    ['messages', { max_tokens: 9, messages: [{ role: 'user', content: 'a' }] }],
  ])('explains %s', async (path, body) => {
    const { stdout } = await explain({ model: 'acme/one', ...body }, '--path', path, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ endpoints: [{ tag: 'cheap' }, { tag: 'dear' }] });
  });

  it('names the fields of a body as its format does', async () => {
    const content = [{ type: 'tool_result', tool_use_id: 'none', content: 'a' }];
    const body = { model: 'acme/one', max_tokens: 9, messages: [{ role: 'user', content }] };
    const { code, stdout } = await explain(body, '--path', 'messages');
    expect([code, stdout]).toEqual([1, expect.stringContaining('messages[0].content[0].tool_use_id')]);
  });

  it('explains embeddings and reranking', async () => {
    const embeddings = await explain({ model: 'acme/one', input: ['a', 'b'] }, '--path', 'embeddings', '--json');
    expect(JSON.parse(embeddings.stdout)).toMatchObject({ endpoints: [{ tag: 'cheap' }, { tag: 'dear' }] });

    const ranked = await explain({ model: 'acme/one', query: 'a', documents: ['b'] }, '--path', 'rerank');
    expect([ranked.code, ranked.stdout]).toEqual([0, expect.stringContaining('acme/one')]);

    const router = await explain({ model: 'router/auto', input: 'a' }, '--path', 'embeddings');
    expect([router.code, router.stdout]).toEqual([1, expect.stringContaining('Vectors of different models')]);
  });
});
