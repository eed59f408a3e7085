import { findSearchEngines } from '../../compose/find-search-engines.ts';
import type { Config } from '../../config/schema.ts';
import { ServiceError } from '../../domain/service.ts';
import { type SearchEngineName, searchEngineNames } from '../../domain/web-search.ts';
import { createCallService } from '../../platform/outbound/call-service.ts';
import type { Finding } from './finding.ts';

/** Lists the search engines. With `probe`, each makes one search. */
export async function checkSearchEngines(config: Config, { probe }: { probe: boolean }): Promise<Finding[]> {
  const { engines } = config.tools.web_search;
  const find = findSearchEngines(
    () => config,
    createCallService(),
    () => {},
  );
  return await Promise.all(
    searchEngineNames.flatMap((name) => {
      const engine = engines[name];
      if (!engine) return [];
      const subject = `search ${name}`;
      const says = `${engine.driver}${engine.base_url === undefined ? '' : ` at ${engine.base_url}`}`;
      if (!probe) return Promise.resolve<Finding>({ status: 'ok', subject, says });
      return probeEngine(find, name).then((problem): Finding => {
        if (!problem) return { status: 'ok', subject, says: `${says} responds` };
        return { status: 'fail', subject, says: problem.message, fix: adviseOn(problem, name, engine.driver) };
      });
    }),
  );
}

/** @returns the failure; undefined: it responds */
async function probeEngine(
  find: ReturnType<typeof findSearchEngines>,
  name: SearchEngineName,
): Promise<ServiceError | undefined> {
  const order = { query: 'weather', count: 1, mode: undefined, include: [], exclude: [], maxCharacters: 100 };
  try {
    await find(name)?.search(order);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function adviseOn({ reason, status }: ServiceError, name: string, driver: string): string {
  const setting = `tools.web_search.engines.${name}`;
  if (driver === 'searxng' && (status === 403 || reason === 'malformed')) {
    return 'Allow the format json under search.formats in the settings of SearXNG.';
  }
  if (status === 401 || status === 403) return `Check ${setting}.api_key.`;
  if (status === 429 || (status !== undefined && status >= 500)) return 'Try again later, or use another service.';
  return `Check ${setting}.base_url.`;
}
