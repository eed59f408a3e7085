import { searchEngineNames } from '../domain/web-search.ts';
import type { Problem } from './interpolate.ts';
import { isMapping } from './path.ts';
import type { Config } from './schema.ts';

/** The drivers of search engines, with the environment variable of their key. Null: no key is needed. */
export const searchDriverKeys = {
  searxng: null,
  brave: 'BRAVE_API_KEY',
  exa: 'EXA_API_KEY',
  tavily: 'TAVILY_API_KEY',
  serper: 'SERPER_API_KEY',
  perplexity: 'PERPLEXITY_API_KEY',
  firecrawl: 'FIRECRAWL_API_KEY',
  parallel: 'PARALLEL_API_KEY',
} as const satisfies Readonly<Record<string, string | null>>;

export type SearchDriverName = keyof typeof searchDriverKeys;

/** Default values of an engine. */
export const engineDefaults = { price_per_search: 0, timeout_ms: 10_000 } as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Adds keys of the environment to engines without a key.
 *
 * @param tree is changed
 * @returns required settings that are missing
 */
export function completeSearchEngines(tree: Record<string, unknown>, environment: Environment): Problem[] {
  const { tools } = tree;
  const search = isMapping(tools) ? tools.web_search : undefined;
  const engines = isMapping(search) ? search.engines : undefined;
  if (!isMapping(engines)) return [];
  const problems: Problem[] = [];
  for (const [name, entry] of Object.entries(engines)) {
    const isKnown =
      isMapping(entry) && typeof entry.driver === 'string' && Object.hasOwn(searchDriverKeys, entry.driver);
    if (!isKnown) continue; // the schema says so
    const path = ['tools', 'web_search', 'engines', name];
    const variable = searchDriverKeys[entry.driver as SearchDriverName]; // `hasOwn` has checked it
    if (variable === null && entry.base_url === undefined) {
      problems.push({ path: [...path, 'base_url'], message: `is missing: ${entry.driver} has no public address` });
    }
    if (variable === null || entry.api_key !== undefined) continue;
    if (environment[variable]) entry.api_key = environment[variable];
    else problems.push({ path: [...path, 'api_key'], message: `is missing: set ${variable}, or add it here` });
  }
  return problems;
}

/** Adds the engines whose own key is in the environment, if they are not configured. @param config is changed */
export function discoverSearchEngines({ tools }: Config, environment: Environment): void {
  const { engines } = tools.web_search;
  for (const name of searchEngineNames) {
    const api_key = environment[searchDriverKeys[name]];
    if (api_key && !engines[name]) engines[name] = { driver: name, api_key, ...engineDefaults };
  }
}
