import type { Config } from '../config/schema.ts';
import { type CallService, ServiceError } from '../domain/service.ts';
import {
  type FindSearchEngine,
  type SearchEngineName,
  searchEngineNames,
  type WebSearchEngine,
} from '../domain/web-search.ts';
import { nanoUsdOf } from '../metering/cost.ts';
import { searchDrivers } from '../tools/web-search/engines/index.ts';
import { searchWeb } from '../tools/web-search/search-web.ts';

type Engines = Config['tools']['web_search']['engines'];

/** Logs a failed search. */
export type ReportSearch = (engine: SearchEngineName, driver: string, error: ServiceError) => void;

/** Finds the search engines of the current configuration. */
export function findSearchEngines(config: () => Config, call: CallService, report: ReportSearch): FindSearchEngine {
  let known: Engines | undefined;
  let engines = new Map<SearchEngineName, WebSearchEngine>();
  return (name) => {
    const now = config().tools.web_search.engines;
    if (now !== known) engines = new Map(searchEngineNames.flatMap((each) => openEngine(each, now, call, report)));
    known = now;
    return name === undefined ? engines.values().next().value : engines.get(name); // `exa` is the first name
  };
}

/** @returns an entry for a map, or none if the engine is not configured */
function openEngine(
  name: SearchEngineName,
  engines: Engines,
  call: CallService,
  report: ReportSearch,
): [SearchEngineName, WebSearchEngine][] {
  const settings = engines[name];
  if (!settings) return [];
  const driver = searchDrivers[settings.driver];
  const {
    api_key: apiKey,
    base_url: url = driver.defaultUrl,
    timeout_ms: timeoutMs,
    price_per_search: price,
  } = settings;
  const engine = { name, driver, apiKey, timeoutMs, baseUrl: url!.replace(/\/+$/, '') }; // the configuration has checked it
  return [
    [
      name,
      {
        name,
        maxResults: driver.maxResults,
        priceNanoUsd: nanoUsdOf(price),
        search: (order, signal) =>
          searchWeb(call, engine, order, signal).catch((error: unknown) => {
            if (error instanceof ServiceError) report(name, driver.id, error);
            throw error;
          }),
      },
    ],
  ];
}
