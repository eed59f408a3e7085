import { facetNames } from './facets.ts';
import type { Settings } from './rule-sets.ts';

const isFacet = new Set<string>(facetNames);

/** Merges settings. The later ones override the earlier ones, those of a facet one by one. */
export function mergeSettings(first: Settings, next: Settings): Settings {
  const merged: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(next)) {
    merged[name] = isFacet.has(name) ? merge(merged[name], value) : value;
  }
  return merged;
}

/** Joins lists, and the settings of a facet. */
function merge(first: unknown, next: unknown): unknown {
  if (Array.isArray(next)) return [...new Set([...(Array.isArray(first) ? first : []), ...next])];
  return { ...(first as object | undefined), ...(next as object) };
}
