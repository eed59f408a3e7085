import { setTimeout as wait } from 'node:timers/promises';
import { type CallService, ServiceError } from '../../domain/service.ts';
import { MAX_QUERY_CHARACTERS, type SearchOrder, type SearchResult } from '../../domain/web-search.ts';
import { cleanResults, cleanText, truncate } from './clean-results.ts';
import type { EngineAddress, SearchDriver, SearchQuery } from './search-driver.ts';

/** A search engine of the configuration. */
export interface SearchEngine extends EngineAddress {
  /** Its name in requests, such as `exa`. The driver may speak another protocol. */
  readonly name: string;
  readonly driver: SearchDriver;
  readonly timeoutMs: number;
}

/** Largest response of an engine. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/** A search is repeated once if the engine requests a wait of at most this. */
const MAX_WAIT_SECONDS = 2;
/** How many more results are requested if the gateway may have to remove some. */
const SURPLUS = 3;

/** Shortens a text to a query: one line without control characters. Empty: there is nothing to search for. */
const writeQuery = (text: string): string =>
  truncate(
    cleanText(text.slice(0, 4 * MAX_QUERY_CHARACTERS))
      .replace(/\s+/g, ' ')
      .trim(),
    MAX_QUERY_CHARACTERS,
  ).trimEnd();

/**
 * Searches the web. The body of the plugin `web` and of the tool `router:web_search`.
 *
 * @throws {ServiceError} if the engine fails; the reason of the signal
 */
export async function searchWeb(
  call: CallService,
  engine: SearchEngine,
  order: SearchOrder,
  signal?: AbortSignal,
): Promise<SearchResult[]> {
  const { driver, name, timeoutMs } = engine;
  const isFiltered = order.include.length > 0 || order.exclude.length > 0;
  const query: SearchQuery = {
    ...order,
    text: writeQuery(order.query),
    count: Math.min(isFiltered ? SURPLUS * order.count : order.count, driver.maxResults),
  };
  const request = { ...driver.writeRequest(query, engine), name: `The search engine ${name}` };
  const limits = { timeoutMs, maxBytes: MAX_RESPONSE_BYTES, signal };
  const body = await call(request, limits).catch(async (error: unknown) => {
    const waitSeconds = error instanceof ServiceError && error.status === 429 ? error.retryAfterSeconds : undefined;
    if (waitSeconds === undefined || waitSeconds > MAX_WAIT_SECONDS) throw error;
    await wait(waitSeconds * 1000, undefined, { signal }).catch(() => {
      throw signal?.reason;
    });
    return await call(request, limits);
  });
  const raw = driver.readResults(body);
  if (!raw) {
    throw new ServiceError(`${request.name} did not respond in the format of ${driver.id}.`, 'malformed');
  }
  return cleanResults(raw, order);
}
