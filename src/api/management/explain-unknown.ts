import { findNearestName } from '../../schema/nearest-name.ts';

/**
 * A name that is kept although it means nothing now, as a sentence with the nearest that does: by its letters, or by its
 * end, since many leave the author out.
 *
 * @param what `model`, `provider`
 */
export function explainUnknown(field: string, name: string, what: string, names: readonly string[]): string {
  const lower = name.toLowerCase();
  const nearest = findNearestName(lower, names) ?? names.find((known) => known.endsWith(`/${lower}`));
  const hint = nearest === undefined ? '' : `; the nearest name is ${nearest}`;
  return `${field}: ${JSON.stringify(name)} means no ${what} of this gateway, as it is now${hint}.`;
}
