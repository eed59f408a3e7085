import type { MessagePart } from '../../domain/items.ts';
import { type BlockPlace, NATIVE_FIELD, type NativePart, UNTITLED_DOCUMENT } from '../../domain/native.ts';
import { knownSources } from './schema/blocks.ts';
import type { PathNotes } from '../path-notes.ts';

/** A block of the body. The schema has checked its kind; unlisted kinds have only a type. */
export interface AnyBlock {
  type: string;
  [field: string]: unknown;
}

export type WrittenPart = (MessagePart | NativePart) & { [NATIVE_FIELD]?: Record<string, unknown> };

/** A list of parts in progress. */
export interface PartList {
  parts: WrittenPart[];
  /** Path of the list in the request of the pipeline. */
  path: string;
  notes: PathNotes | undefined;
  /** The type of texts: those of the model have another one. */
  textType: 'input_text' | 'output_text';
}

type Source = { type: string; media_type?: string; data?: string; url?: string; file_id?: string; content?: unknown };

/**
 * Adds a block to a list of parts. Blocks of several texts become several parts.
 *
 * @param path of the block in the body
 * @param id differs between the blocks of a list
 */
export function addBlock(list: PartList, block: AnyBlock, path: string, id: number): void {
  const { source } = block as { source?: { type?: unknown } | string };
  const isKnown =
    (block.type !== 'image' && block.type !== 'document') ||
    (typeof source === 'object' && knownSources[block.type].has(String(source.type)));
  switch (isKnown ? block.type : undefined) {
    case 'text':
      add(list, writeText(block, list.textType), path);
      return;
    case 'image':
      add(list, writeImage(block), path);
      return;
    case 'document':
      addDocument(list, block, path, id);
      return;
    case 'search_result':
      addSearchResult(list, block, path, id);
      return;
    default:
      add(list, { type: `anthropic:${block.type}`, block }, path);
  }
}

function add({ parts, path, notes }: PartList, part: WrittenPart, from: string): void {
  notes?.add(`${path}[${parts.length}]`, from);
  parts.push(part);
}

/** Returns the fields of a block that have a value and are not listed. */
function restOf(block: Readonly<Record<string, unknown>>, ...known: string[]): Record<string, unknown> | undefined {
  let rest: Record<string, unknown> | undefined;
  for (const [field, value] of Object.entries(block)) {
    if (field === 'type' || value === undefined || value === null || known.includes(field)) continue;
    rest ??= {};
    rest[field] = value;
  }
  return rest;
}

const withRest = <Part extends object>(part: Part, rest: Record<string, unknown> | undefined): Part =>
  rest === undefined ? part : { ...part, [NATIVE_FIELD]: rest };

export const writeText = (block: AnyBlock, type: 'input_text' | 'output_text'): WrittenPart =>
  withRest({ type, text: String(block['text']), ...markOf(block) }, restOf(block, 'text', 'cache_control'));

const markOf = ({
  cache_control: mark,
}: Readonly<Record<string, unknown>>): { cache_control?: { type: 'ephemeral' } } =>
  mark ? { cache_control: mark as { type: 'ephemeral' } } : {}; // the schema has checked it

function writeImage(block: AnyBlock): WrittenPart {
  const source = block['source'] as Source;
  const rest = restOf(block, 'source', 'cache_control');
  const mark = markOf(block);
  if (source.type === 'file') return withRest({ type: 'input_image', file_id: source.file_id!, ...mark }, rest);
  return withRest({ type: 'input_image', image_url: urlOf(source), ...mark }, rest);
}

const urlOf = ({ type, media_type: mediaType, data, url }: Source): string =>
  type === 'base64' ? `data:${mediaType};base64,${data}` : url!;

function addDocument(list: PartList, block: AnyBlock, path: string, id: number): void {
  const { source, title, context } = block as { source?: Source; title?: string | null; context?: string | null };
  const { type, data, content } = source!;
  const settings = restOf(block, 'source', 'title', 'context');
  const place = (field: BlockPlace['field']): BlockPlace => ({ id, type: 'document', field });
  const addText = (field: BlockPlace['field'], text: string, extra?: object): void =>
    add(list, { type: 'input_text', text, [NATIVE_FIELD]: { place: { ...place(field), ...extra } } }, path);
  if (type === 'text' || type === 'content') {
    if (title) addText('title', title);
    if (context) addText('context', context);
    const first = settings && { settings };
    if (type === 'text') addText('text', data ?? '', first);
    else if (typeof content === 'string') addText('content', content, { settings: { ...settings, isText: true } });
    else {
      noteSettings(list, settings, path);
      addContent(list, content as AnyBlock[], `${path}.source.content`, place('content'), settings);
    }
    return;
  }
  if (context) addText('context', context);
  const file: WrittenPart = { type: 'input_file', ...fileOf(source!, title), ...markOf(block) };
  const rest = restOf(block, 'source', 'title', 'context', 'cache_control');
  add(list, { ...file, [NATIVE_FIELD]: { place: place('source'), title: title ?? null, ...rest } }, path);
}

/** OpenAI's protocols require a name. */
function fileOf(source: Source, title: string | null | undefined): object {
  const named = title ? { filename: title } : undefined;
  if (source.type === 'file') return { file_id: source.file_id, ...named };
  if (source.type === 'url') return { file_url: source.url, ...named };
  return { file_data: urlOf(source), filename: title || UNTITLED_DOCUMENT };
}

/** Notes the paths of the settings of a block. The next part has them. */
function noteSettings({ parts, path: listPath, notes }: PartList, settings: object | undefined, path: string): void {
  for (const name of Object.keys(settings ?? {})) notes?.add(`${listPath}[${parts.length}].${name}`, `${path}.${name}`);
}

/** Adds the blocks of a document or a search result, each as a separate part. */
function addContent(
  list: PartList,
  blocks: readonly AnyBlock[],
  path: string,
  place: BlockPlace,
  settings: Record<string, unknown> | undefined,
): void {
  for (const [index, block] of blocks.entries()) {
    const part = block.type === 'image' ? writeImage(block) : writeText(block, 'input_text');
    const given = index === 0 && settings ? { ...place, settings } : place;
    add(list, { ...part, [NATIVE_FIELD]: { ...part[NATIVE_FIELD], place: given } }, `${path}[${index}]`);
  }
}

function addSearchResult(list: PartList, block: AnyBlock, path: string, id: number): void {
  const { source, title, content } = block as unknown as { source: string; title: string; content: AnyBlock[] };
  const settings = restOf(block, 'source', 'title', 'content');
  noteSettings(list, settings, path);
  for (const [field, text] of [
    ['title', title],
    ['source', source],
  ] as const) {
    const place: BlockPlace = { id, type: 'search_result', field };
    const given = field === 'title' && settings ? { ...place, settings } : place;
    add(list, { type: 'input_text', text, [NATIVE_FIELD]: { place: given } }, `${path}.${field}`);
  }
  addContent(list, content, `${path}.content`, { id, type: 'search_result', field: 'content' }, undefined);
}
