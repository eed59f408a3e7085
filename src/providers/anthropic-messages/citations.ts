import { NATIVE_FIELD } from '../../domain/native.ts';

/** A range of the message's text. */
export interface TextRange {
  start: number;
  end: number;
}

/**
 * Reads the source of a text block as a flat annotation. The excerpt is the extension `content`.
 *
 * @param cited the block's range in its message, in UTF-16 units
 * @param dropped receives the type of a citation that the interface does not know
 * @param keeps whether the annotation contains the citation, for a client of the same format
 * @see docs/reference/items.md#annotations
 */
export function readCitation(
  citation: unknown,
  cited: TextRange,
  dropped: Set<string>,
  keeps = false,
): Record<string, unknown> | undefined {
  const source = (citation ?? {}) as Record<string, unknown>;
  const native = keeps ? { [NATIVE_FIELD]: source } : undefined;
  const excerpt = typeof source.cited_text === 'string' ? { content: source.cited_text } : undefined;
  switch (source.type) {
    case 'web_search_result_location':
    case 'search_result_location':
      return {
        type: 'url_citation',
        url: String(source.url ?? source.source ?? ''),
        title: String(source.title ?? ''),
        start_index: cited.start,
        end_index: cited.end,
        ...excerpt,
        ...native,
      };
    case 'char_location':
    case 'page_location':
    case 'content_block_location':
      return {
        type: 'file_citation',
        file_id: String(source.file_id ?? `document-${source.document_index ?? 0}`),
        filename: String(source.document_title ?? ''),
        index: cited.end,
        ...excerpt,
        ...native,
      };
    default:
      if (native) return { type: String(source.type), ...native };
      dropped.add(`content[].citations[] (${source.type})`);
      return undefined;
  }
}
