import type { Chunk } from '../../domain/chunks.ts';

/** The maximum number of remembered annotations, and of characters of each. */
const MAX_SEEN = 1000;
const MAX_LENGTH = 4000;

const flatKinds = new Set(['url_citation', 'file_citation', 'file_path', 'container_file_citation']);

/**
 * Turns a nested annotation (`{type, url_citation: {…}}`) into a flat one.
 *
 * @param seen the annotations so far. Some servers repeat one in each piece: openai/openai-agents-js#1617
 * @returns false if the interface does not have its kind, which is then added to `dropped`
 */
export function readAnnotation(
  annotation: unknown,
  chunks: Chunk[],
  { seen, dropped }: { seen: Set<string>; dropped: Set<string> },
): boolean {
  const { type, ...fields } = (annotation ?? {}) as Record<string, unknown>;
  if (typeof type !== 'string' || !flatKinds.has(type)) {
    dropped.add(`message.annotations[] (${String(type)})`);
    return false;
  }
  const nested = fields[type];
  const flat: Record<string, unknown> = { type, ...(typeof nested === 'object' ? nested : fields) };
  if (type === 'url_citation') {
    flat.title ??= '';
    flat.start_index ??= 0;
    flat.end_index ??= 0;
  }
  const key = JSON.stringify(flat);
  if (!seen.has(key)) chunks.push({ type: 'annotation', annotation: flat });
  if (seen.size < MAX_SEEN && key.length < MAX_LENGTH) seen.add(key);
  return true;
}

interface Sources {
  /** Perplexity and xAI: a list of URLs. */
  citations: unknown;
  /** Perplexity: the same sources, with titles. */
  searchResults: unknown;
  /** Whether a text part is in progress that the server has not annotated itself. */
  canAnnotate: boolean;
}

/** Adds sources outside the message as citations without a position: both indexes are 0. choice 58 */
export function readCitations(
  { citations, searchResults, canAnnotate }: Sources,
  chunks: Chunk[],
  dropped: Set<string>,
): void {
  const titles = new Map<string, string>(); // URL → title
  if (Array.isArray(citations)) for (const url of citations) if (typeof url === 'string') titles.set(url, '');
  if (Array.isArray(searchResults)) {
    for (const result of searchResults) {
      if (typeof result?.url === 'string') titles.set(result.url, typeof result.title === 'string' ? result.title : '');
    }
  }
  if (titles.size === 0) return;
  if (!canAnnotate) {
    if (citations) dropped.add('citations');
    if (searchResults) dropped.add('search_results');
    return;
  }
  for (const [url, title] of titles) {
    chunks.push({ type: 'annotation', annotation: { type: 'url_citation', url, title, start_index: 0, end_index: 0 } });
  }
}
