import type { EndpointFacts } from '../domain/endpoint.ts';
import { matchesEndpoint } from './preferences.ts';

/**
 * The entries of `provider.order`, `only` and `ignore` that mean no endpoint of this gateway: most likely misspelt.
 *
 * @param preferences `provider` of a checked request
 * @returns them as they were written, each once; undefined when every one means something
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
