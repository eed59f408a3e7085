import type { ServiceRequest } from '../../domain/service.ts';
import type { SearchOrder } from '../../domain/web-search.ts';

/** A search as an engine gets it. `count` may be higher than ordered. */
export interface SearchQuery extends Omit<SearchOrder, 'query'> {
  /** At most 400 characters, without control characters. */
  readonly text: string;
}

/** A result as an engine returns it, without any check. */
export interface RawResult {
  readonly url?: unknown;
  readonly title?: unknown;
  /** Excerpts of the page; they are joined. */
  readonly texts: readonly unknown[];
}

/** The place and the key of an engine. */
export interface EngineAddress {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
}

/** The protocol of a search engine, as pure functions. */
export interface SearchDriver {
  readonly id: string;
  /** Undefined: the operator must name it. */
  readonly defaultUrl: string | undefined;
  /** Maximum number of results of one search. */
  readonly maxResults: number;
  /** Writes the request, without the name of the engine. */
  writeRequest(query: SearchQuery, address: EngineAddress): Omit<ServiceRequest, 'name'>;
  /** @returns undefined if the response does not have the shape of its API */
  readResults(body: unknown): readonly RawResult[] | undefined;
}

/** Reads a member of an unknown value. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Reads the objects of a list. @returns undefined if it is not a list */
export const readList = (value: unknown): readonly Record<string, unknown>[] | undefined =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : undefined;

/** Removes the members that are undefined. */
export const compact = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
