import { facetNames } from './facets.ts';
import type { Settings } from './rule-sets.ts';

const isFacet = new Set<string>(facetNames);

/** Merges settings. The later ones override the earlier ones, those of a facet one by one. */
export function mergeSettings(first: Settings, next: Settings): Settings {
  const merged: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(next)) {
    merged[name] = isFacet.has(name) ? { ...(merged[name] as object | undefined), ...(value as object) } : value;
  }
  return merged;
}
