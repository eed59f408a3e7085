import type { ServiceRequest } from '../../domain/service.ts';
import type { DomainFilter } from './domain-filter.ts';

/** A search, as every engine gets it. */
export interface SearchQuery {
  /** At most 400 characters, without control characters. */
  readonly text: string;
  /** Number of results to request. */
  readonly count: number;
  /** Depth of the search. Engines ignore words that they do not know. */
  readonly mode: string | undefined;
  readonly include: readonly DomainFilter[];
  readonly exclude: readonly DomainFilter[];
  /** Maximum characters of the text of one result. */
  readonly maxCharacters: number;
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
  /** The environment variable of its key. Undefined: it needs none. */
  readonly keyVariable: string | undefined;
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
