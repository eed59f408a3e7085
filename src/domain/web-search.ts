import type { DomainFilters } from './domain-filter.ts';

/** The names of search engines in requests. The operator says what each of them is. */
export const searchEngineNames = ['exa', 'firecrawl', 'parallel', 'perplexity'] as const;
export type SearchEngineName = (typeof searchEngineNames)[number];

/** A checked result of a search. Its text is untrusted: anyone can write a page. */
export interface SearchResult {
  /** http or https, without credentials. */
  readonly url: string;
  /** One line. The host if the page has no title. */
  readonly title: string;
  /** May be empty. Excerpts are joined by `[...]`. */
  readonly content: string;
}

/** A search for a plugin or a tool. */
export interface SearchOrder extends DomainFilters {
  readonly query: string;
  readonly count: number;
  /** Depth of the search. Engines ignore words that they do not know. */
  readonly mode: string | undefined;
  /** Maximum characters of the text of one result. */
  readonly maxCharacters: number;
}

/** A search engine of the configuration, as plugins and tools see it. */
export interface WebSearchEngine {
  readonly name: SearchEngineName;
  /** Maximum number of results of one search. */
  readonly maxResults: number;
  readonly priceNanoUsd: bigint;
  /**
   * @throws {ServiceError} if the engine fails; the reason of the signal
   */
  search(order: SearchOrder, signal?: AbortSignal): Promise<readonly SearchResult[]>;
}

/**
 * Finds an engine of the configuration.
 *
 * @param name absent: the default one, `exa` or else the first
 */
export type FindSearchEngine = (name?: SearchEngineName) => WebSearchEngine | undefined;

/** The longest query that is sent to an engine. */
export const MAX_QUERY_CHARACTERS = 400;
