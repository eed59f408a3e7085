import { readTextFile } from '../domain/data-url.ts';
import type { InputItem } from '../domain/items.ts';

/** Returns a text with or without changes. */
export type ReplaceText = (text: string, field: string) => string;

/**
 * Fields whose strings are not text: names, ids, kinds, bytes, URLs and what only its provider can read. A string in any
 * other field is text, also in items and parts of unknown kinds.
 */
const opaqueFields: ReadonlySet<string> = new Set([
  'type',
  'id',
  'call_id',
  'item_id',
  'approval_request_id',
  'container_id',
  'role',
  'status',
  'phase',
  'format',
  'name',
  'namespace',
  'server_label',
  'author',
  'recipient',
  'detail',
  'processing',
  'execution',
  'encrypted_content',
  'signature',
  'image_url',
  'file_url',
  'video_url',
  'url',
  'file_id',
  'file_data',
  'data',
  'cache_control',
  'prompt_cache_breakpoint',
  'logprobs',
  'bytes',
  'b64_json',
  'tools',
  'reasoning',
]);

/** Names of fields that are not text: words, which the interface and providers choose. */
const plainName = /^[A-Za-z_]{1,40}$/;

/**
 * Replaces the texts of an item. The item itself stays unchanged.
 *
 * @returns the same item if no text changes
 * @see docs/reference/guardrails.md#what-is-scanned
 */
export function mapItemTexts(item: InputItem, replace: ReplaceText): InputItem {
  const mapped = mapAnyItem(item, replace);
  if (mapped === item || item.type !== 'reasoning') return mapped;
  // The signature and the encrypted content belong to the replaced text.
  const { signature: _signature, encrypted_content: _encrypted, ...rest } = mapped as typeof item;
  return rest;
}

/** Does the same for items of the output, which keep what the provider signed. */
export function mapAnyItem<Item extends { readonly type: string }>(item: Item, replace: ReplaceText): Item {
  if (imageTypes.has(item.type)) return mapImageItem(item, replace);
  const mapped = mapTexts(item, replace, '');
  if (item.type === 'web_search_call') return mapSearch(mapped, replace);
  // The URL of a call of a server tool is an argument that the model has written.
  return item.type.startsWith('router:') ? mapField(mapped, 'url', replace) : mapped;
}

/** Replaces the addresses of a search, which the model has written or read. */
function mapSearch<Item extends object>(item: Item, replace: ReplaceText): Item {
  const { action } = item as { action?: { sources?: unknown } | null };
  if (typeof action !== 'object' || action === null) return item;
  let mapped = mapField(action, 'url', replace);
  const { sources } = mapped;
  if (Array.isArray(sources)) {
    const list = sources.map((source: unknown) =>
      typeof source === 'object' && source !== null ? mapField(source, 'url', replace) : source,
    );
    if (list.some((source, index) => source !== sources[index])) mapped = { ...mapped, sources: list };
  }
  return mapped === action ? item : { ...item, action: mapped };
}

const imageTypes: ReadonlySet<string> = new Set(['image_generation_call', 'router:image_generation']);

/** Replaces the prompts of an image item. Its other texts are the image. */
const mapImageItem = <Item extends object>(item: Item, replace: ReplaceText): Item =>
  ['prompt', 'revised_prompt', 'revisedPrompt', 'arguments', 'error'].reduce(
    (mapped, field) => mapField(mapped, field, replace),
    item,
  );

function mapField<Item extends object>(item: Item, field: string, replace: ReplaceText): Item {
  const value = (item as Record<string, unknown>)[field];
  const mapped = mapTexts(value, replace, field);
  return mapped === value ? item : { ...item, [field]: mapped };
}

/** Replaces all texts in a value, and names of fields that are no words. @returns the same value if none changes */
export function mapTexts<Value>(value: Value, replace: ReplaceText, field: string): Value {
  if (typeof value === 'string') return replace(value, field) as Value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return mapList(value, replace, field) as Value;
  return mapFields(value as Record<string, unknown>, replace) as Value;
}

function mapList(list: readonly unknown[], replace: ReplaceText, field: string): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const mapped = mapTexts(list[at], replace, field);
    if (mapped === list[at]) continue;
    copy ??= [...list];
    copy[at] = mapped;
  }
  return copy ?? list;
}

function mapFields(object: Record<string, unknown>, replace: ReplaceText): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  let renamed: Map<string, string> | undefined;
  for (const field of Object.keys(object)) {
    if (opaqueFields.has(field) && field !== 'file_data') continue;
    const name = plainName.test(field) ? field : replace(field, 'name');
    if (name !== field) {
      renamed ??= new Map();
      renamed.set(field, name);
    }
    const mapped = field === 'file_data' ? mapFile(object, replace) : mapTexts(object[field], replace, field);
    if (mapped === object[field]) continue;
    copy ??= { ...object };
    copy[field] = mapped;
  }
  if (copy && 'logprobs' in copy) copy['logprobs'] = []; // they repeat the text
  return renamed ? rename(copy ?? object, renamed) : (copy ?? object);
}

/** Replaces the text of a text file, which some formats send to a model as text. Other files are bytes. */
function mapFile({ file_data: data, filename }: Record<string, unknown>, replace: ReplaceText): unknown {
  if (typeof data !== 'string') return data;
  const file = readTextFile(data, typeof filename === 'string' ? filename : undefined);
  const text = file && replace(file.text, 'file_data');
  if (!file || text === undefined || text === file.text) return data;
  return `data:${file.mediaType};base64,${Buffer.from(text).toString('base64')}`;
}

/** Renames fields. Fields that would have the same name get a number. */
function rename(object: Record<string, unknown>, names: ReadonlyMap<string, string>): Record<string, unknown> {
  const result = new Map<string, unknown>();
  for (const [field, value] of Object.entries(object)) {
    const wanted = names.get(field) ?? field;
    let name = wanted;
    for (let count = 2; result.has(name) || (name !== field && Object.hasOwn(object, name)); count++)
      name = `${wanted} ${count}`;
    result.set(name, value);
  }
  return Object.fromEntries(result);
}
