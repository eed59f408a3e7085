import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openWires, wires } from '../providers/index.ts';
import { knownProviders } from './known-providers.ts';
import type { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import { wireNames } from './schema/providers.ts';

const load = (env: Record<string, string>, file?: string) =>
  loadConfig({ env: { ...env, ...(file && { HEADGATE_PROVIDERS: file }) }, cwd: import.meta.dirname });
const problemsOf = (env: Record<string, string>, file: string): readonly string[] => {
  try {
    load(env, file);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};

it('the setting `wire` accepts every wire of the build', () => {
  expect([...wireNames].sort()).toEqual([...wires.keys(), ...openWires.keys()].sort());
});

it.each(knownProviders)('$id is an entry that its wire accepts', ({ wire, dialect, baseUrl, baseUrlEnv, id, env }) => {
  expect(() => wires.get(wire)!.checkDialect?.(dialect)).not.toThrow();
  expect(id).toMatch(/^[a-z0-9]+$/);
  if (baseUrl === undefined) expect(baseUrlEnv).toBeDefined();
  else expect(baseUrl).toMatch(/^(https:\/\/|http:\/\/127\.0\.0\.1:)[^?#]*[^/]$/);
  for (const name of env) expect(name).toMatch(/^[A-Z][A-Z0-9_]+$/);
});

it('no two of them share an id, slug or variable', () => {
  const names = knownProviders.flatMap(({ id, slugs }) => [id, ...slugs]);
  expect(new Set(names).size).toBe(names.length);
  const variables = knownProviders.flatMap(({ env }) => env);
  expect(new Set(variables).size).toBe(variables.length);
});

it('finds at least 40 services by their key', () => {
  const env = Object.fromEntries(knownProviders.flatMap((known) => known.env).map((name) => [name, 'key']));
  expect(load(env).discovered.length).toBeGreaterThanOrEqual(40);
});

it('a key in the environment is enough', () => {
  const { config, discovered } = load({ GROQ_API_KEY: 'gsk', ANTHROPIC_API_KEY: 'sk', XAI_API_KEY: '' });
  expect(discovered).toEqual([
    { id: 'anthropic', variable: 'ANTHROPIC_API_KEY' },
    { id: 'groq', variable: 'GROQ_API_KEY' },
  ]);
  expect(config.providers).toMatchObject([
    {
      id: 'anthropic',
      wire: 'anthropic-messages',
      base_url: 'https://api.anthropic.com/v1',
      api_key: 'sk',
      models: [{ model: 'anthropic/*' }],
    },
    { id: 'groq', wire: 'openai-chat', api_key: 'gsk', base_url: expect.any(String) },
  ]);
});

it('a URL may be in the environment', () => {
  const env = { OPENAI_API_KEY: 'sk', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  expect(load(env).config.providers).toMatchObject([{ id: 'openai', base_url: 'http://127.0.0.1:9/v1' }]);
});

it('configured providers come first, and only once', () => {
  const env = { OPENAI_API_KEY: 'sk', GROQ_API_KEY: 'gsk' };
  const file = '[{ id: openai, wire: openai-chat, base_url: "http://127.0.0.1:9", models: [{ model: m }] }]';
  const { config, discovered } = load(env, file);
  expect(config.providers.map(({ id, wire }) => [id, wire])).toEqual([
    ['openai', 'openai-chat'],
    ['groq', 'openai-chat'],
  ]);
  expect(config.providers[0]).not.toHaveProperty('dialect'); // it names its wire, so it is not completed
  expect(discovered.map(({ id }) => id)).toEqual(['groq']);
});

it('detects nothing if it is off, or for keys with another use', () => {
  expect(load({ OPENAI_API_KEY: 'sk', HEADGATE_CATALOG_AUTO_DISCOVER: 'false' }).isBare).toBe(true);
  expect(load({ GITHUB_TOKEN: 'ghp', HF_TOKEN: 'hf' })).toMatchObject({ isBare: true, discovered: [] });
});

it('completes an entry with only an id, and keeps its settings', () => {
  const env = { MISTRAL_API_KEY: 'key', AZURE_OPENAI_API_KEY: 'az' };
  const { config } = load(
    env,
    '[{ id: mistral, name: Mine, dialect: { stream_usage: true } }, { id: azure, base_url: "https://x.example/openai/v1" }, { id: huggingface, api_key: own }]',
  );
  expect(config.providers).toMatchObject([
    {
      name: 'Mine',
      wire: 'openai-chat',
      api_key: 'key',
      base_url: 'https://api.mistral.ai/v1',
      dialect: { stream_usage: true },
      models: [{ model: 'mistral/*' }, { model: 'mistralai/*' }],
    },
    { wire: 'openai-responses', base_url: 'https://x.example/openai/v1' },
    { api_key: 'own', wire: 'openai-chat' },
  ]);
});

it('reports missing settings of an entry', () => {
  expect(problemsOf({}, '[{ id: groq }]').join('\n')).toContain(
    'api_key): is missing: set GROQ_API_KEY, or add it here',
  );
  expect(problemsOf({ AZURE_OPENAI_API_KEY: 'az' }, '[{ id: azure }]').join('\n')).toContain('base_url');
  expect(problemsOf({}, '[{ id: unheard }]').join('\n')).toContain('wire');
});

it('the guide lists every provider', () => {
  const page = readFileSync(new URL('../../docs/guides/providers.md', import.meta.url), 'utf8');
  const section = page.split('## Detected providers')[1]!.split('\n## ')[0]!;
  const rows = section.split('\n').filter((line) => /^\| `\w+` \|.*\| `\w[\w-]*` \|$/.test(line));
  expect(rows.slice(1)).toEqual(
    knownProviders.map(({ id, name, env, wire }) => {
      const variables = env.length === 0 ? '–' : env.map((variable) => `\`${variable}\``).join(', ');
      return `| \`${id}\` | ${name} | ${variables} | \`${wire}\` |`;
    }),
  );
});
