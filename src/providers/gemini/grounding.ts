import type { Chunk } from '../../domain/chunks.ts';

type Fields = Record<string, unknown>;

const list = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === 'object' && entry !== null) : [];

/**
 * What a search found, as annotations of the text, and the search itself as an item. The provider counts bytes.
 *
 * @param text of the whole message
 * @param canAnnotate false when the text is not the last thing said, so that no annotation can join it
 * @param dropped gets what has no place
 * @see responses-items.md section 1.2
 */
export function readGrounding(
  grounding: Fields,
  text: string,
  canAnnotate: boolean,
  chunks: Chunk[],
  dropped: Set<string>,
): void {
  const pages = list(grounding.groundingChunks).map(({ web }) => (web ?? {}) as { uri?: unknown; title?: unknown });
  const bytes = Buffer.from(text);
  const place = (offset: unknown): number =>
    bytes.subarray(0, typeof offset === 'number' ? offset : 0).toString('utf8').length;
  for (const { segment, groundingChunkIndices: indices } of list(grounding.groundingSupports)) {
    const { startIndex, endIndex } = (segment ?? {}) as { startIndex?: unknown; endIndex?: unknown };
    for (const index of Array.isArray(indices) ? indices : []) {
      const page = pages[Number(index)];
      if (typeof page?.uri !== 'string') continue;
      if (!canAnnotate) {
        dropped.add('groundingMetadata.groundingSupports');
        continue;
      }
      const annotation = {
        type: 'url_citation',
        url: page.uri,
        title: typeof page.title === 'string' ? page.title : '',
        start_index: place(startIndex),
        end_index: place(endIndex),
      };
      chunks.push({ type: 'annotation', annotation });
    }
  }
  if (grounding.searchEntryPoint) dropped.add('groundingMetadata.searchEntryPoint');
  const queries = Array.isArray(grounding.webSearchQueries) ? grounding.webSearchQueries.map(String) : [];
  if (queries.length === 0) return;
  const sources = pages.flatMap(({ uri }) => (typeof uri === 'string' ? [{ type: 'url', url: uri }] : []));
  const item = {
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: queries[0]!, queries, sources },
  };
  chunks.push({ type: 'item_done', key: 'search', item });
}
