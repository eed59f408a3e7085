import type { OutputItem } from '../../domain/items.ts';

type Fields = Record<string, unknown>;

/**
 * Writes the citations and searches of a response as grounding metadata. The format counts bytes of UTF-8.
 *
 * @returns undefined if there are none
 * @see docs/reference/gemini.md#grounding
 */
export function writeGrounding(output: readonly OutputItem[]): Fields | undefined {
  const chunks = new Map<string, { index: number; title: string }>();
  const supports: Fields[] = [];
  const queries: string[] = [];
  for (const item of output) {
    const { action } = item as { action?: { query?: unknown; queries?: unknown } };
    if (item.type === 'web_search_call') {
      const asked = Array.isArray(action?.queries) ? action.queries : [action?.query];
      queries.push(...asked.filter((query): query is string => typeof query === 'string' && query !== ''));
    }
    for (const { text, annotations } of listTexts(item)) {
      for (const annotation of annotations) addSupport(annotation, text, chunks, supports);
    }
  }
  if (chunks.size === 0 && queries.length === 0) return undefined;
  return {
    ...(queries.length > 0 && { webSearchQueries: queries }),
    ...(chunks.size > 0 && { groundingChunks: [...chunks].map(([uri, { title }]) => ({ web: { uri, title } })) }),
    ...(supports.length > 0 && { groundingSupports: supports }),
  };
}

function listTexts(item: OutputItem): { text: string; annotations: Fields[] }[] {
  if (item.type !== 'message' || !Array.isArray(item['content'])) return [];
  return (item['content'] as Fields[]).flatMap(({ text, annotations }) =>
    typeof text === 'string' && Array.isArray(annotations) ? [{ text, annotations: annotations as Fields[] }] : [],
  );
}

function addSupport(
  annotation: Fields,
  text: string,
  chunks: Map<string, { index: number; title: string }>,
  supports: Fields[],
): void {
  const { type, url, title, start_index: start, end_index: end } = annotation;
  if (type !== 'url_citation' || typeof url !== 'string') return;
  let chunk = chunks.get(url);
  if (!chunk) {
    chunk = { index: chunks.size, title: typeof title === 'string' ? title : '' };
    chunks.set(url, chunk);
  }
  if (typeof start !== 'number' || typeof end !== 'number' || end <= start) return;
  const cited = text.slice(start, end);
  const startIndex = Buffer.byteLength(text.slice(0, start));
  const segment = { startIndex, endIndex: startIndex + Buffer.byteLength(cited), text: cited };
  supports.push({ segment, groundingChunkIndices: [chunk.index] });
}

/** Whether the texts that grounding metadata of the provider quotes are in the response. A filter may have changed them. */
export function quotesOutput(grounding: unknown, output: readonly OutputItem[]): boolean {
  const { groundingSupports: supports } = (grounding ?? {}) as { groundingSupports?: unknown };
  if (!Array.isArray(supports)) return true;
  const texts = output.flatMap(listTexts).map(({ text }) => text);
  const whole = texts.join('');
  return (supports as ({ segment?: { text?: unknown } } | null)[]).every((support) => {
    const quoted = support?.segment?.text;
    return typeof quoted !== 'string' || whole.includes(quoted);
  });
}
