import type { OutputItem } from '../../domain/items.ts';

/*
 * Fields that the public schema requires and that some providers leave out. A typed client rejects the whole response
 * without them. A field that is present is never changed.
 */

type Fields = Readonly<Record<string, unknown>>;

/** Annotation → its required fields. xAI sends citations of URLs with nothing but the URL. */
const annotationFields: ReadonlyMap<unknown, Fields> = new Map([
  ['url_citation', { title: '', start_index: 0, end_index: 0 }],
  ['file_citation', { filename: '', index: 0 }],
  ['container_file_citation', { filename: '', start_index: 0, end_index: 0 }],
  ['file_path', { index: 0 }],
]);

/** Item → its required fields, without `id` and `status`, which every item gets. */
const itemFields: ReadonlyMap<string, Fields> = new Map([
  ['web_search_call', { action: { type: 'search', query: '' } }],
  ['file_search_call', { queries: [] }],
  ['code_interpreter_call', { code: null, container_id: '', outputs: null }],
]);

/** Adds the fields that are absent. @returns the same object if there are none */
function addMissing<Value extends object>(value: Value, fields: Fields | undefined): Value {
  if (!fields) return value;
  const given = value as Fields;
  const missing = Object.entries(fields).filter(
    ([name, byDefault]) => given[name] === undefined || (given[name] === null && byDefault !== null),
  );
  return missing.length === 0 ? value : { ...value, ...Object.fromEntries(missing) };
}

export const completeAnnotation = (annotation: Record<string, unknown>): Record<string, unknown> =>
  addMissing(annotation, annotationFields.get(annotation['type']));

/** Completes the annotations of a part of a message. */
export function completePart<Part extends object>(part: Part): Part {
  const { annotations } = part as { annotations?: unknown };
  if (!Array.isArray(annotations) || annotations.length === 0) return part;
  return {
    ...part,
    annotations: annotations.map((each: unknown) =>
      typeof each === 'object' && each !== null ? completeAnnotation(each as Record<string, unknown>) : each,
    ),
  };
}

/** Completes an item. A search without its action is one of unknown words. */
export function completeItem(item: OutputItem): OutputItem {
  if (item.type !== 'message') return addMissing(item, itemFields.get(item.type));
  const { content } = item as { content?: unknown };
  if (!Array.isArray(content)) return item;
  const parts = content.map((part: unknown) => (typeof part === 'object' && part !== null ? completePart(part) : part));
  return parts.every((part, index) => part === content[index]) ? item : { ...item, content: parts };
}
