import { describe, expect, it } from 'vitest';
import type { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import { listSecrets } from './list-secrets.ts';
import { searchDriverKeys } from './search-engines.ts';

/** Loads settings of engines, as variables of the environment. */
function load(engines: Record<string, Record<string, string>>, env: Record<string, string> = {}) {
  const settings = Object.entries(engines).flatMap(([name, fields]) =>
    Object.entries(fields).map(([field, value]) => [
      `HEADGATE_TOOLS_WEB_SEARCH_ENGINES_${name.toUpperCase()}_${field.toUpperCase()}`,
      value,
    ]),
  );
  return loadConfig({ env: { ...Object.fromEntries(settings), ...env }, file: null, cwd: import.meta.dirname }).config;
}
const problemsOf = (engines: Record<string, Record<string, string>>): readonly string[] => {
  try {
    load(engines);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};

describe('a search engine', () => {
  it('takes its key from the environment, by its driver, unless the configuration has one', () => {
    const env = { BRAVE_API_KEY: 'key-of-brave', EXA_API_KEY: 'key-of-exa' };
    const { engines } = load({ exa: { driver: 'brave' }, parallel: { driver: 'exa', api_key: 'own-key-1' } }, env).tools
      .web_search;
    expect(engines).toEqual({
      exa: { driver: 'brave', api_key: 'key-of-brave', price_per_search: 0, timeout_ms: 10_000 },
      parallel: { driver: 'exa', api_key: 'own-key-1', price_per_search: 0, timeout_ms: 10_000 },
    });
  });

  it('exists with its own service if only its key is set, unless auto_discover is off', () => {
    const env = { EXA_API_KEY: 'key-of-exa', BRAVE_API_KEY: 'key-of-brave' };
    const { engines } = load({}, env).tools.web_search;
    expect(engines).toEqual({
      exa: { driver: 'exa', api_key: 'key-of-exa', price_per_search: 0, timeout_ms: 10_000 },
    });
    expect(load({}, { ...env, HEADGATE_CATALOG_AUTO_DISCOVER: 'false' }).tools.web_search.engines).toEqual({});
    const own = load({ exa: { driver: 'searxng', base_url: 'http://127.0.0.1:8888' } }, env).tools.web_search.engines;
    expect(own.exa).toMatchObject({ driver: 'searxng' });
    expect(own.exa).not.toHaveProperty('api_key');
  });

  it.each([
    [{ exa: { driver: 'searxng' } }, 'engines.exa.base_url: is missing: searxng has no public address'],
    [{ exa: { driver: 'serper' } }, 'engines.exa.api_key: is missing: set SERPER_API_KEY, or add it here'],
    [{ exa: { driver: 'bing' } }, 'engines.exa.driver): must be one of'],
    [{ exa: { driver: 'exa', api_key: 'x y' } }, 'engines.exa.api_key): must consist of visible ASCII characters'],
    [{ exa: { driver: 'exa', api_key: 'key', base_url: 'http://u:secret@a.example' } }, 'without credentials'],
    [{ exa: { driver: 'exa', api_key: 'key', price_per_search: '-1' } }, 'price_per_search'],
  ])('is a problem of the configuration if it is %j', (engines, message) => {
    expect(problemsOf(engines).join('\n')).toContain(message);
  });

  it('has a key that no log shows', () => {
    expect(listSecrets(load({}, { PARALLEL_API_KEY: 'key-of-parallel' }))).toContain('key-of-parallel');
  });
});

it('every driver but searxng has a variable', () => {
  const without = Object.entries(searchDriverKeys).filter(([, variable]) => variable === null);
  expect(without).toEqual([['searxng', null]]);
});
