import type { EndpointFacts } from '../domain/endpoint.ts';
import { matchesEndpoint } from './preferences.ts';

/**
 * Returns the entries of `provider.order`, `only` and `ignore` that match no endpoint of this gateway.
 *
 * @param preferences `provider` of a checked request
 * @returns each entry once, as written; undefined if all of them match
 */
export function findUnknownNames(
  preferences: { order?: unknown; only?: unknown; ignore?: unknown } | null | undefined,
  endpoints: readonly EndpointFacts[],
  workspaceId: string,
): string[] | undefined {
  if (!preferences) return undefined;
  const { order, only, ignore } = preferences;
  const names = [order, only, ignore].flatMap((list) => (list ?? []) as string[]); // as the schema has checked
  const isKnown = (name: string): boolean =>
    endpoints.some(
      (endpoint) =>
        (endpoint.workspace === undefined || endpoint.workspace === workspaceId) &&
        matchesEndpoint(name.toLowerCase(), endpoint),
    );
  const unknown = [...new Set(names)].filter((name) => !isKnown(name));
  return unknown.length === 0 ? undefined : unknown;
}
