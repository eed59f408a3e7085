import type { FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { parseSlug } from '../../catalog/slug.ts';

/** The model that a path names, and an action on it. */
export interface GeminiPath {
  model: string;
  action: string;
}

/** The current catalog, whose models paths name. */
export type ReadCatalog = () => Pick<Catalog, 'find'>;

/**
 * Reads the path below `models/` or `tunedModels/`: `google/gemini-2.5-flash:generateContent`. A name may have a colon, so
 * the last one begins the action, which is empty if there is none.
 */
export function readGeminiPath({ params }: Pick<FastifyRequest, 'params'>, catalog: ReadCatalog): GeminiPath {
  const path = readRest(params);
  const colon = path.lastIndexOf(':');
  if (colon === -1) return { model: path, action: '' };
  return { model: findName(path.slice(0, colon), catalog()), action: path.slice(colon + 1) };
}

/** Returns the name of the model that a path ends with. */
export const readModelPath = (params: unknown, catalog: ReadCatalog): string => findName(readRest(params), catalog());

/** Clients of Google name its models without an author, some of them in their code. choice 850 */
function findName(name: string, catalog: Pick<Catalog, 'find'>): string {
  const isKnown = (slug: string): boolean => catalog.find(parseSlug(slug).model).length > 0;
  if (name.includes('/') || isKnown(name)) return name;
  return isKnown(`google/${name}`) ? `google/${name}` : name;
}

/** Clients may send the collection twice or not at all, and escape the slashes of a name. */
function readRest(params: unknown): string {
  const { '*': path, author, call } = params as Record<string, string>; // the routes have a wildcard, or both segments
  return (path ?? `${author}/${call}`).replace(/^(?:(?:models|tunedModels)\/)+/, '');
}
