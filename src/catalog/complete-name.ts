import type { Catalog } from './catalog.ts';
import { parseSlug } from './slug.ts';

/**
 * Returns the slug that a client of one vendor means: `claude-opus-4-5` is `anthropic/claude-opus-4-5` for a client of Anthropic, if
 * the catalog knows only the latter. Clients have names without an author in their code. choice 850
 *
 * @param author of the vendor's models
 */
export function completeName(name: string, author: string, catalog: Pick<Catalog, 'find'>): string {
  const isKnown = (slug: string): boolean => catalog.find(parseSlug(slug).model).length > 0;
  if (name.includes('/') || isKnown(name)) return name;
  const whole = `${author}/${name}`;
  return isKnown(whole) ? whole : name;
}
