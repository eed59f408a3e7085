import { NATIVE_FIELD } from '../../domain/native.ts';

type Fields = Record<string, unknown>;

/**
 * Writes an annotation as a citation. One of a provider of this format is unchanged. The others keep the range of the
 * text, which a citation of the format does not have.
 *
 * @see docs/reference/messages.md#citations
 */
export function writeCitation(annotation: Fields): Fields {
  const native = annotation[NATIVE_FIELD];
  if (typeof native === 'object' && native !== null) return native as Fields;
  const { type, title, url, content, start_index: start, end_index: end, file_id: id, filename, index } = annotation;
  const cited = typeof content === 'string' ? content : '';
  if (type === 'url_citation') {
    return {
      type: 'web_search_result_location',
      url,
      title: title ?? '', // the format allows null, and clients reject it
      cited_text: cited,
      encrypted_index: '',
      start_index: start,
      end_index: end,
    };
  }
  return {
    type: 'char_location',
    cited_text: cited,
    document_index: 0,
    document_title: filename ?? null,
    start_char_index: 0,
    end_char_index: cited.length,
    file_id: id ?? null,
    ...(index === undefined ? {} : { end_index: index }),
  };
}
