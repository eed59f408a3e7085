import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CatalogFile, checkCatalogFile, keyOfEndpoint } from '../../catalog/records.ts';
import { loadConfig } from '../../config/load.ts';
import { runCli } from '../program.ts';
import { refreshModels } from './refresh.ts';

let cwd: string;
let path: string;
const servers: Server[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-models-'));
  path = join(cwd, 'data', 'catalog.json');
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(cwd, { recursive: true, force: true });
});

async function call(args: string[], env: Record<string, string> = {}) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const code = await runCli(['models', ...args], { stdout: write('stdout'), stderr: write('stderr'), env, cwd });
  return { code, ...printed };
}

/** @returns the address of a server on this machine */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
}
const serveText = (text: string, status = 200, headers: Record<string, string> = {}) =>
  serve((_request, response) => response.writeHead(status, headers).end(text));
const refresh = async (list: unknown) => call(['refresh', '--from', await serveText(JSON.stringify(list))]);
const readKept = () => JSON.parse(readFileSync(path, 'utf8')) as CatalogFile;
const rowsOf = (file: CatalogFile) => new Map(file.endpoints?.map((row) => [keyOfEndpoint(row), row]));

/** A model as public lists have it. */
const listed = (fields: object = {}) => ({
  name: 'A Model',
  cost: { input: 1, output: 4, cache_read: 0.1 },
  limit: { context: 100_000, output: 8000 },
  modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
  reasoning: true,
  tool_call: true,
  temperature: true,
  attachment: true,
  open_weights: true,
  release_date: '2026-11-01',
  knowledge: '2026-05',
  last_updated: '2026-11-01',
  ...fields,
});
/** A list that is long enough, and besides what a test is about. */
const listWith = (providers: Record<string, Record<string, object>> = {}, count = 25) => ({
  groq: {
    id: 'groq',
    models: Object.fromEntries(Array.from({ length: count }, (_, index) => [`acme/filler-${index}`, listed()])),
  },
  ...Object.fromEntries(Object.entries(providers).map(([id, models]) => [id, { id, name: id, models }])),
});

describe('headgate models', () => {
  it('lists what the configuration can serve, wildcards included', async () => {
    const { code, stdout } = await call([], { OPENAI_API_KEY: 'test' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^MODEL +CONTEXT +IN \$\/M +OUT \$\/M +PROVIDERS\n/);
    expect(stdout).toMatch(/^openai\/gpt-5\.4-mini +400,000 +0\.75 +4\.5 +openai$/m);
    expect(stdout).toMatch(/^openai\/\* +- +- +- +openai$/m);
    expect(stdout).not.toContain('anthropic/');
    expect(stdout).toMatch(/^router\/auto +[\d,]+ +- +- +-$/m);
    expect(stdout).toMatch(/^~openai\/gpt-mini-latest +[\d,]+ +[\d.]+ +[\d.]+ +openai$/m);
  });

  it('lists the whole catalog with --all', async () => {
    const { stdout } = await call(['--all']);
    expect(stdout).toMatch(/^anthropic\/claude-opus-4\.8 .* anthropic$/m);
    expect(stdout).toMatch(/^openai\/gpt-oss-120b .*groq, fireworks/m);
    expect(stdout).toMatch(/^simulator\/\* /m);
  });

  it('finds by texts in slug, name and providers', async () => {
    const env = { OPENAI_API_KEY: 'test', ANTHROPIC_API_KEY: 'test' };
    const slugs = async (...args: string[]) =>
      (await call(args, env)).stdout
        .split('\n')
        .slice(1, -1)
        .map((line) => line.split(' ', 1)[0]);
    expect(await slugs('5.4 MINI')).toEqual(['openai/gpt-5.4-mini', '~openai/gpt-mini-latest']);
    expect((await slugs('anthropic')).every((slug) => /^~?anthropic\//.test(String(slug)))).toBe(true);
    expect((await call(['no-such'], env)).stdout).toBe('No model matches. "--all" searches the whole catalog.\n');
    expect((await call(['no-such', '--all'], env)).stdout).toBe('No model matches.\n');
  });

  it('prints a JSON list', async () => {
    writeFileSync(
      join(cwd, 'headgate.yaml'),
      JSON.stringify({
        providers: [
          {
            id: 'a',
            wire: 'simulator',
            models: [{ model: 'x/one', pricing: { prompt: '0.00000025', completion: 0 } }],
          },
          { id: 'b', wire: 'simulator', models: [{ model: 'x/one', context_length: 9 }, { model: 'x/two' }] },
        ],
      }),
    );
    expect(JSON.parse((await call(['--json', 'x/'])).stdout)).toEqual([
      {
        id: 'x/one',
        name: 'x/one',
        context_length: 9,
        usd_per_million: { prompt: 0.25, completion: 0 },
        providers: ['a', 'b'],
      },
      { id: 'x/two', name: 'x/two', context_length: null, usd_per_million: null, providers: ['b'] },
    ]);
    expect((await call(['--json', 'none'])).stdout).toBe('[]\n');
  });

  it('rejects unknown options', async () => {
    expect((await call(['a', 'b'])).code).toBe(0); // several words all must be there
    expect((await call(['--every'])).code).toBe(1);
  });
});

describe('headgate models refresh', () => {
  it('stores a list in the data folder, in the format of the catalog', async () => {
    const { code, stdout, stderr } = await refresh(
      listWith({
        xai: { 'grok-9': listed({ name: 'Grok 9', release_date: '2026-11' }) },
        elsewhere: { 'some-model': listed() },
      }),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Stored 26 models at 2 providers from 127\.0\.0\.1:\d+ \(0 skipped\): .*catalog\.json\n/);
    expect(stdout).toContain('at the next reload (SIGHUP) or start');
    const kept = readKept();
    expect(checkCatalogFile(kept)).toEqual([]);
    const facts = { source: expect.stringMatching(/^http:\/\/127/), as_of: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) };
    expect(kept.models?.find(({ id }) => id === 'x-ai/grok-9')).toEqual({
      id: 'x-ai/grok-9',
      name: 'Grok 9',
      created: '2026-11-01',
      knowledge_cutoff: '2026-05-01',
      context_length: 100_000,
      max_output_tokens: 8000,
      input: ['text', 'image', 'file'],
      output: ['text'],
      parameters: expect.arrayContaining(['temperature', 'tools', 'structured_outputs', 'reasoning']),
      ...facts,
    });
    expect(rowsOf(kept).get('x-ai/grok-9@xai/default')).toEqual({
      model: 'x-ai/grok-9',
      provider: 'xai',
      upstream_model: 'grok-9',
      context_length: 100_000,
      max_completion_tokens: 8000,
      usd_per_million: { prompt: 1, completion: 4, cache_read: 0.1 },
      ...facts,
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(cwd, 'data'))).toEqual(['catalog.json']);
    expect((await call(['grok-9'], { XAI_API_KEY: 'test' })).stdout).toContain('x-ai/grok-9');
  });

  it.each([
    ['togetherai', 'Org/Some-Model', 'org/some-model@together'],
    ['fireworks-ai', 'org/x', 'org/x@fireworks'],
    ['moonshotai', 'kimi-k9', 'moonshotai/kimi-k9@moonshot'],
    ['novita-ai', 'deepseek-ai/DeepSeek-V9', 'deepseek/deepseek-v9@novita'],
    ['zai', 'glm-9', 'z-ai/glm-9@zai'],
    ['mistral', 'mistral-huge-9', 'mistralai/mistral-huge-9@mistral'],
    ['alibaba', 'qwen9-max', 'qwen/qwen9-max@alibaba'],
    ['anthropic', 'claude-opus-9-1', 'anthropic/claude-opus-9.1@anthropic'],
    ['anthropic', 'claude-opus-9-20270101', 'anthropic/claude-opus-9-20270101@anthropic'],
    ['anthropic', 'claude-opus-4-8', 'anthropic/claude-opus-4.8@anthropic'], // as the built-in catalog has it
    ['fireworks-ai', 'accounts/fireworks/models/gpt-oss-120b', 'openai/gpt-oss-120b@fireworks'],
  ])('gives %s %s the slug of %s', async (provider, name, key) => {
    expect((await refresh(listWith({ [provider]: { [name]: listed() } }))).code).toBe(0);
    expect(rowsOf(readKept()).get(`${key}/default`)).toMatchObject({ upstream_model: name });
  });

  it.each([
    ['alibaba', 'deepseek-v9', 'another author’s model without its author'],
    ['groq', 'llama-9', 'no author'],
    ['groq', 'a/b/c', 'too many slashes'],
    ['groq', 'router/auto', 'a name of ours'],
    ['ollama', 'acme/local', 'a local server'],
    ['azure', 'gpt-9', 'a deployment'],
    ['cohere', 'command-a', 'a slug that another name of the provider has'],
  ])('skips %s %s: %s', async (provider, name) => {
    const whole = listWith();
    const models = provider === 'groq' ? whole.groq.models : {};
    Object.assign(models, { [name]: listed() });
    Object.assign(whole, { [provider]: { models } });
    expect((await refresh(whole)).code).toBe(0);
    expect(readKept().endpoints?.filter(({ upstream_model: there }) => there === name)).toEqual([]);
  });

  it('skips withdrawn models, and numbers without a meaning', async () => {
    const list = listWith({
      xai: {
        'grok-gone': listed({ status: 'deprecated' }),
        'grok-new': { limit: { context: 0, output: 0 }, release_date: 'soon', temperature: false, tool_call: false },
      },
    });
    expect((await refresh(list)).stdout).toContain('(1 skipped)');
    const kept = readKept();
    expect(rowsOf(kept).has('x-ai/grok-gone@xai/default')).toBe(false);
    const model = kept.models?.find(({ id }) => id === 'x-ai/grok-new');
    expect(model).not.toHaveProperty('created');
    expect(model).not.toHaveProperty('context_length');
    expect(model?.parameters).not.toContain('temperature');
    expect(model?.parameters).not.toContain('tools');
    expect(rowsOf(kept).get('x-ai/grok-new@xai/default')).not.toHaveProperty('usd_per_million');
  });

  it('includes prices of long prompts', async () => {
    const long = { input: 2, output: 6 };
    await refresh(
      listWith({
        xai: {
          a: listed({ cost: { input: 1, output: 3, context_over_200k: long } }),
          b: listed({ cost: { input: 1, output: 3, tiers: [{ ...long, tier: { type: 'context', size: 128_000 } }] } }),
        },
      }),
    );
    const rows = rowsOf(readKept());
    expect(rows.get('x-ai/a@xai/default')?.above).toEqual([{ prompt_tokens: 200_000, prompt: 2, completion: 6 }]);
    expect(rows.get('x-ai/b@xai/default')?.above).toEqual([{ prompt_tokens: 128_000, prompt: 2, completion: 6 }]);
  });

  it('keeps the built-in description of a model, and takes its price', async () => {
    await refresh(listWith({ openai: { 'gpt-5.4': listed({ name: 'Other', cost: { input: 3, output: 18 } }) } }));
    expect(readKept().models?.some(({ id }) => id === 'openai/gpt-5.4')).toBe(false);
    const { stdout } = await call(['gpt-5.4'], { OPENAI_API_KEY: 'test' });
    expect(stdout).toMatch(/^openai\/gpt-5\.4 +[\d,]+ +3 +18 /m);
  });

  it('gives the same result again, and keeps slugs', async () => {
    const list = listWith({ xai: { 'grok-9': listed() } });
    await refresh(list);
    const first = readKept();
    await refresh(list);
    const withoutSource = ({ models, endpoints }: CatalogFile) =>
      [...(models ?? []), ...(endpoints ?? [])].map(({ source: _, ...rest }) => rest);
    expect(withoutSource(readKept())).toEqual(withoutSource(first));
  });

  it('follows a redirect within the origin', async () => {
    const body = JSON.stringify(listWith());
    const url = await serve((request, response) =>
      request.url === '/list?token=secret'
        ? response.end(body)
        : response.writeHead(302, { location: '/list?token=secret' }).end(),
    );
    expect((await call(['refresh', '--from', `${url}/start?key=hidden`])).code).toBe(0);
    expect(readFileSync(path, 'utf8')).not.toMatch(/secret|hidden/);
  });

  it('warns if the configuration does not use the file', async () => {
    writeFileSync(join(cwd, 'headgate.yaml'), 'catalog: { builtin: false }\n');
    expect((await refresh(listWith())).stderr).toContain('catalog.builtin is false');
  });

  describe('that fails, keeps the old file and exits 1:', () => {
    const old = JSON.stringify({ models: [{ id: 'old/one' }] });
    beforeEach(() => {
      mkdirSync(join(cwd, 'data'));
      writeFileSync(path, old);
    });
    afterEach(() => {
      expect(readFileSync(path, 'utf8')).toBe(old);
      expect(readdirSync(join(cwd, 'data'))).toEqual(['catalog.json']);
    });
    async function fails(from: string, message: RegExp | string) {
      const { code, stdout, stderr } = await call(['refresh', '--from', from]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^headgate: models refresh: .* The catalog is unchanged\.\n$/);
      expect(stderr).toMatch(message);
    }
    const failsOn = async (list: unknown, message: RegExp | string) =>
      fails(await serveText(JSON.stringify(list)), message);

    it('invalid JSON', async () => fails(await serveText('<html>'), 'The list is not JSON'));
    it('an empty response', async () => fails(await serveText(''), 'The list is not JSON'));
    it('another status', async () => fails(await serveText('{}', 500), 'responded with 500'));
    it('no list of providers', () => failsOn([], 'not an object of providers'));
    it('nothing at all', () => failsOn(null, 'not an object of providers'));
    it('invalid models', () => failsOn({ groq: { models: 5 } }, 'has an unexpected shape: groq/models'));
    it('a price that is a text', () =>
      failsOn(listWith({ xai: { x: { cost: { input: '1' } } } }), 'has an unexpected shape: xai/models/x/cost/input'));
    it('a negative price', () =>
      failsOn(
        listWith({ xai: { x: listed({ cost: { input: -1, output: 1 } }) } }),
        /cannot be used: endpoints\[\d+\]/,
      ));
    it('half a token', () => failsOn(listWith({ xai: { x: listed({ limit: { context: 0.5 } }) } }), 'cannot be used'));
    it('a tiny list', () => failsOn(listWith({}, 19), 'The list has 19 usable models'));
    it('an empty list', () => failsOn({}, 'The list has 0 usable models'));
    it('implausible prices', () =>
      failsOn(
        listWith({
          openai: {
            'gpt-5.4': listed({ cost: { input: 2500, output: 15_000 } }),
            'gpt-5.4-mini': listed({ cost: { input: 0, output: 0 } }),
            'gpt-5.4-nano': listed({ cost: { input: 0.2, output: 1.25 } }),
          },
        }),
        '4 of 6 known prices differ by more than a factor of 10',
      ));

    it('a redirect to elsewhere', async () => {
      let asked = false;
      const other = await serve((_request, response) => {
        asked = true;
        response.end(JSON.stringify(listWith()));
      });
      await fails(
        await serveText('', 302, { location: `${other}/list` }),
        /redirects to 127\.0\.0\.1:\d+\. To use that host/,
      );
      expect(asked).toBe(false);
    });
    it('a redirect without end', async () =>
      fails(await serveText('', 302, { location: '/' }), 'redirects more than 5 times'));
    it('a redirect to an invalid address', async () =>
      fails(await serveText('', 302, { location: 'http://[' }), 'redirects to an invalid address'));
    it('an unreachable server', () => fails('http://127.0.0.1:1/', /cannot be reached: .*ECONNREFUSED/));
    it('an interrupted response', async () => {
      const url = await serve((_request, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{');
        setTimeout(() => response.destroy(), 20);
      });
      await fails(url, 'cannot be reached');
    });
    it.each(['ftp://example.com/', 'models.json', '/etc/passwd', ''])('no address: "%s"', (from) =>
      fails(from, 'is not an http or https URL'));
    it('an address with a password, which it does not repeat', async () => {
      await fails('https://me:hunter2@example.com/', 'without credentials');
      expect((await call(['refresh', '--from', 'https://me:hunter2@example.com/'])).stderr).not.toContain('hunter2');
    });

    const terminal = { stdout: { write: () => {} }, stderr: { write: () => {} }, env: {}, cwd: '' };
    const failing = (from: string, limits: object) =>
      refreshModels(terminal, loadConfig({ env: {}, cwd }), { from }, limits);
    it('a list that is too large', async () => {
      const url = await serveText(JSON.stringify(listWith()));
      await expect(failing(url, { maxBytes: 1000 })).rejects.toThrow('larger than 1000 bytes');
    });
    it.each(['headers', 'body'])('%s that are late', async (what) => {
      const url = await serve((_request, response) => void (what === 'body' && response.writeHead(200).write('{')));
      await expect(failing(url, { fetchMs: 100 })).rejects.toThrow('did not send the list within 0.1 seconds');
    });
  });

  it('leaves no file where there was none', async () => {
    expect((await call(['refresh', '--from', await serveText('no')])).code).toBe(1);
    expect(readdirSync(cwd)).toEqual([]);
  });
});
