import type { Chunk } from '../../domain/chunks.ts';

type Fields = Record<string, unknown>;

const list = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === 'object' && entry !== null) : [];

/**
 * Maximum characters read for all citations together, because each citation reads the text. 100 kB of text allow 1000.
 */
const MAX_BYTES_READ = 100_000_000;

/**
 * Adds the sources of a search as annotations of the text, and the search itself as an item. The provider counts bytes.
 *
 * @param text the last message; undefined if it is closed, so that no annotation can join it
 * @param dropped receives the sources that cannot be carried
 * @see docs/reference/items.md#annotations
 */
export function readGrounding(
  grounding: Fields,
  text: string | undefined,
  chunks: Chunk[],
  dropped: Set<string>,
): void {
  // Pages of the web, and documents of a data store at Vertex.
  const pages = list(grounding.groundingChunks).map(
    ({ web, retrievedContext }) => (web ?? retrievedContext ?? {}) as { uri?: unknown; title?: unknown },
  );
  const bytes = Buffer.from(text ?? '');
  let bytesLeft = MAX_BYTES_READ;
  for (const { segment, groundingChunkIndices: indices } of list(grounding.groundingSupports)) {
    bytesLeft -= bytes.length;
    if (bytesLeft < 0) {
      dropped.add('groundingMetadata.groundingSupports');
      break;
    }
    const place = findPlace((segment ?? {}) as Fields, text ?? '', bytes);
    for (const index of Array.isArray(indices) ? indices : []) {
      const page = pages[Number(index)];
      if (typeof page?.uri !== 'string') continue;
      if (text === undefined) {
        dropped.add('groundingMetadata.groundingSupports');
        continue;
      }
      const annotation = {
        type: 'url_citation',
        url: page.uri,
        title: typeof page.title === 'string' ? page.title : '',
        ...place,
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

/** Counts the queries sent to the search. Each may have a price. */
export const countQueries = ({ webSearchQueries: queries }: Fields): number =>
  Array.isArray(queries) ? queries.filter((query) => query !== '').length : 0;

/**
 * Finds the position of a citation. Offsets are relative to the part. If other parts precede it, the cited text
 * decides.
 */
function findPlace({ startIndex, endIndex, text: words }: Fields, text: string, bytes: Buffer) {
  const count = (offset: unknown): number =>
    bytes.subarray(0, typeof offset === 'number' ? offset : 0).toString('utf8').length;
  const start = count(startIndex);
  const end = count(endIndex);
  const found = typeof words !== 'string' || text.startsWith(words, start) ? -1 : text.indexOf(words);
  if (found === -1) return { start_index: start, end_index: end };
  return { start_index: found, end_index: found + String(words).length };
}
