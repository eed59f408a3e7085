import { type CacheControl, type EncryptedContentPart, isKnownPart, type MessagePart } from '../../domain/items.ts';
import { isDataUrl, readDataUrl, typeOfName } from '../../domain/data-url.ts';
import { isNativePart, type NativePart, readNative, UNTITLED_DOCUMENT } from '../../domain/native.ts';
import {
  type Draft,
  dropMark,
  dropOtherSources,
  dropUnknown,
  refuse,
  refuseBecause,
  refuseKind,
} from '../kit/draft.ts';
import { CompoundBlocks } from './compound-blocks.ts';
import type { Dialect } from './dialect.ts';
import type { Block, CacheMark, Source } from './wire.ts';

/** Thinking between calls may take more tokens than one turn. */
export const interleaved = 'interleaved-thinking-2025-05-14';

/** A draft of this wire. */
export interface MessagesDraft extends Draft {
  dialect: Dialect;
  /** Features that the written content needs, for `anthropic-beta`. */
  betas: Set<string>;
}

type Part = MessagePart | EncryptedContentPart;

const marks = ['cache_control', 'prompt_cache_breakpoint'];
const known: Record<Part['type'], ReadonlySet<string>> = {
  input_text: new Set(['type', 'text', ...marks]),
  output_text: new Set(['type', 'text', ...marks]),
  refusal: new Set(['type', 'refusal']),
  input_image: new Set(['type', 'image_url', 'file_id', 'cache_control', 'prompt_cache_breakpoint']),
  input_file: new Set(['type', 'file_data', 'file_url', 'file_id', 'filename', ...marks]),
  input_audio: new Set(['type']),
  input_video: new Set(['type']),
  encrypted_content: new Set(['type', 'encrypted_content']),
};

/**
 * Writes the parts of a message or of a tool output. Omits empty texts, because the provider rejects them.
 *
 * @param path the path of the list: `input[3].content`
 */
export function writeParts(
  draft: MessagesDraft,
  parts: string | readonly Part[] | null | undefined,
  path: string,
): Block[] {
  if (typeof parts === 'string') return parts === '' ? [] : [{ type: 'text', text: parts }];
  const blocks: Block[] = [];
  const compound = draft.keepsNative ? new CompoundBlocks(blocks) : undefined;
  for (let index = 0; index < (parts?.length ?? 0); index++) {
    const part = parts![index]!;
    const place = () => `${path}[${index}]`;
    if (draft.keepsNative && isNativePart(part)) {
      blocks.push((part as NativePart).block as Block);
      continue;
    }
    if (!isKnownPart(part)) throw refuseKind(draft, place(), 'part', (part as { type: string }).type);
    dropUnknown(draft, part, known[part.type], place);
    const block = writePart(draft, part, place) ?? (compound && readNative(part)?.['place'] ? emptyText() : undefined);
    if (block === undefined) continue;
    const mark = readMark(draft, part);
    if (mark) block.cache_control = mark;
    if (compound?.add(block, readNative(part)) !== true) blocks.push(block);
  }
  return blocks;
}

/** A field of a block of several texts may be empty. */
const emptyText = (): Block => ({ type: 'text', text: '' });

function writePart(draft: MessagesDraft, part: Part, place: () => string): Block | undefined {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return part.text === '' ? undefined : { type: 'text', text: part.text };
    case 'refusal':
      return part.refusal === '' ? undefined : { type: 'text', text: part.refusal };
    case 'input_image':
      dropOtherSources(draft, part, part.image_url ? 'image_url' : 'file_id', place);
      if (part.image_url) return { type: 'image', source: readUrl(draft, part.image_url, `${place()}.image_url`) };
      if (part.file_id) return { type: 'image', source: readFileId(draft, part.file_id) };
      throw refuse(draft, place(), 'An image without URL and file id');
    case 'input_file': {
      const { file_data: data, file_url: url, file_id: id, filename } = part;
      dropOtherSources(draft, part, data ? 'file_data' : url ? 'file_url' : 'file_id', place);
      const source = data
        ? readFileData(draft, data, filename, `${place()}.file_data`)
        : url
          ? readUrl(draft, url, `${place()}.file_url`)
          : id
            ? readFileId(draft, id)
            : undefined;
      if (source === undefined) throw refuse(draft, place(), 'A file without content');
      if (source.type === 'base64' && source.media_type.startsWith('image/')) {
        if (filename && filename !== UNTITLED_DOCUMENT) draft.dropped.push(`${place()}.filename`);
        return { type: 'image', source };
      }
      return filename ? { type: 'document', source, title: filename } : { type: 'document', source };
    }
    case 'encrypted_content':
      draft.dropped.push(place()); // only the provider that made it can read it
      return undefined;
    default:
      throw refuse(draft, place(), part.type === 'input_audio' ? 'Audio' : 'Video');
  }
}

/** Returns the fields of a block that only the format has, if the client has the same format. */
export const nativeFields = (draft: Draft, item: object): Readonly<Record<string, unknown>> | undefined =>
  draft.keepsNative ? readNative(item) : undefined;

/** Reads a cache mark. A breakpoint of the other dialect gets the provider's default lifetime of five minutes. */
export function readMark(draft: MessagesDraft, part: object): CacheMark | undefined {
  const { cache_control: mark, prompt_cache_breakpoint: point } = part as {
    cache_control?: CacheControl;
    prompt_cache_breakpoint?: object | null;
  };
  if (!mark && !point) return undefined;
  if (draft.dialect.cache_control) return mark ?? { type: 'ephemeral' };
  dropMark(draft);
  return undefined;
}

function readUrl(draft: Draft, url: string, path: string): Source {
  return isDataUrl(url) ? readInline(draft, url, path) : { type: 'url', url };
}

function readInline(draft: Draft, url: string, path: string): Source & { type: 'base64' } {
  const read = readDataUrl(url);
  if (!read?.isBase64) throw refuse(draft, path, 'A data URL that is not base64');
  return { type: 'base64', media_type: read.mediaType, data: read.data };
}

/** Reads `file_data`: a data URL, a URL or plain base64. */
function readFileData(draft: Draft, data: string, filename: string | undefined, path: string): Source {
  if (/^https?:/.test(data)) return { type: 'url', url: data };
  const named = filename ? (typeOfName(filename) ?? '') : 'application/pdf';
  const source = isDataUrl(data)
    ? readInline(draft, data, path)
    : ({ type: 'base64', media_type: named, data } as const);
  const { media_type: mediaType } = source;
  if (mediaType === 'application/pdf' || mediaType.startsWith('image/')) return source;
  if (mediaType.startsWith('text/') || mediaType === 'application/json') {
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(source.data, 'base64').toString('utf8') };
  }
  throw refuseBecause(
    path,
    `A file of type ${mediaType || 'unknown'} cannot be sent to ${draft.target.endpoint}: it takes PDF, text and images.`,
  );
}

function readFileId(draft: MessagesDraft, id: string): Source {
  draft.betas.add('files-api-2025-04-14');
  return { type: 'file', file_id: id };
}
