import type { FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { completeName } from '../../catalog/complete-name.ts';

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
  return { model: completeName(path.slice(0, colon), 'google', catalog()), action: path.slice(colon + 1) };
}

/** Returns the name of the model that a path ends with. */
export const readModelPath = (params: unknown, catalog: ReadCatalog): string =>
  completeName(readRest(params), 'google', catalog());

/** Clients may send the collection twice or not at all, and escape the slashes of a name. */
function readRest(params: unknown): string {
  const { '*': path, author, call } = params as Record<string, string>; // the routes have a wildcard, or both segments
  return (path ?? `${author}/${call}`).replace(/^(?:(?:models|tunedModels)\/)+/, '');
}
