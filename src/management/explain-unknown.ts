import { findNearestName } from '../domain/nearest-name.ts';

/**
 * Explains a name that is stored although it matches nothing, with the nearest name that does: by its letters, or by
 * its end, since many users omit the author.
 *
 * @param what `model`, `provider`
 */
export function explainUnknown(field: string, name: string, what: string, names: readonly string[]): string {
  const lower = name.toLowerCase();
  const nearest = findNearestName(lower, names) ?? names.find((known) => known.endsWith(`/${lower}`));
  const hint = nearest === undefined ? '' : `; the nearest name is ${nearest}`;
  return `${field}: no ${what} of this gateway matches ${JSON.stringify(name)} yet${hint}.`;
}
