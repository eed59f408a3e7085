import { type EncryptedContentPart, isKnownPart, type MessagePart } from '../../domain/items.ts';
import { isDataUrl, readDataUrl, typeOfName } from '../../domain/data-url.ts';
import { isNativePart, readNative, UNTITLED_DOCUMENT } from '../../domain/native.ts';
import { type Draft, dropOtherSources, dropUnknown, refuse, refuseKind } from '../kit/draft.ts';
import type { Dialect } from './dialect.ts';
import type { ModelTraits } from './models.ts';
import { withNative } from './native.ts';
import type { Part } from './wire.ts';

/** A draft of this wire. */
export interface GeminiDraft extends Draft {
  dialect: Dialect;
  traits: ModelTraits;
}

type InputPart = MessagePart | EncryptedContentPart;

const known: Record<InputPart['type'], ReadonlySet<string>> = {
  input_text: new Set(['type', 'text']),
  output_text: new Set(['type', 'text']),
  refusal: new Set(['type', 'refusal']),
  input_image: new Set(['type', 'image_url', 'file_id', 'detail']),
  input_file: new Set(['type', 'file_data', 'file_url', 'file_id', 'filename']),
  input_audio: new Set(['type', 'input_audio']),
  input_video: new Set(['type', 'video_url']),
  encrypted_content: new Set(['type', 'encrypted_content']),
};

/**
 * Writes the parts of a message or of a tool output. Omits empty texts.
 *
 * @param path the path of the list: `input[3].content`
 */
export function writeParts(
  draft: GeminiDraft,
  parts: string | readonly InputPart[] | null | undefined,
  path: string,
): Part[] {
  if (typeof parts === 'string') return parts === '' ? [] : [{ text: parts }];
  const written: Part[] = [];
  for (let index = 0; index < (parts?.length ?? 0); index++) {
    const part = parts![index]!;
    const place = () => `${path}[${index}]`;
    const other: { type: string } = part;
    if (draft.keepsNative && isNativePart(other)) {
      written.push(other.block as Part); // of a client of this format
      continue;
    }
    if (!isKnownPart(part)) throw refuseKind(draft, place(), 'part', (part as { type: string }).type);
    dropUnknown(draft, part, known[part.type], place);
    const after = writePart(draft, part, place);
    if (after)
      written.push(
        draft.keepsNative ? withNative(after, readNative(part), (part as { filename?: string }).filename) : after,
      );
  }
  return written;
}

function writePart(draft: GeminiDraft, part: InputPart, place: () => string): Part | undefined {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return part.text === '' ? undefined : { text: part.text };
    case 'refusal':
      return part.refusal === '' ? undefined : { text: part.refusal };
    case 'input_image':
      if (part.detail && part.detail !== 'auto') draft.dropped.push(`${place()}.detail (${part.detail})`);
      dropOtherSources(draft, part, part.image_url ? 'image_url' : 'file_id', place);
      if (part.image_url) return writeMedia(draft, part.image_url, 'image/jpeg', place);
      if (part.file_id) return writeFileId(draft, part.file_id, place);
      throw refuse(draft, place(), 'An image without URL and file id');
    case 'input_file': {
      const { file_data: data, file_url: url, file_id: id, filename } = part;
      dropOtherSources(draft, part, data ? 'file_data' : url ? 'file_url' : 'file_id', place);
      if (filename && filename !== UNTITLED_DOCUMENT && !draft.keepsNative) draft.dropped.push(`${place()}.filename`);
      const type = typeOfName(filename ?? '') ?? 'application/pdf';
      if (data && !isDataUrl(data) && !/^https?:/.test(data)) return { inlineData: { mimeType: type, data } };
      if (data || url) return writeMedia(draft, (data ?? url)!, type, place);
      if (id) return writeFileId(draft, id, place);
      throw refuse(draft, place(), 'A file without content');
    }
    case 'input_audio':
      return { inlineData: { mimeType: `audio/${part.input_audio.format}`, data: part.input_audio.data } };
    case 'input_video':
      return writeMedia(draft, part.video_url, 'video/mp4', place);
    case 'encrypted_content':
      draft.dropped.push(place()); // only the provider that made it can read it
      return undefined;
  }
}

function writeMedia(draft: Draft, url: string, otherwise: string, place: () => string): Part {
  if (!isDataUrl(url)) return writeAddress(url, otherwise);
  const read = readDataUrl(url);
  if (!read?.isBase64) throw refuse(draft, place(), 'A data URL that is not base64');
  return { inlineData: { mimeType: read.mediaType || otherwise, data: read.data } };
}

/** Writes a URL. Videos of the provider's own site need no media type. */
function writeAddress(url: string, otherwise: string): Part {
  if (/^https:\/\/(?:www\.)?(?:youtube\.com|youtu\.be)\//.test(url)) return { fileData: { fileUri: url } };
  const end = url.search(/[?#]/);
  return { fileData: { mimeType: typeOfName(end === -1 ? url : url.slice(0, end)) ?? otherwise, fileUri: url } };
}

/** Writes a file id. A file id of this provider is a URL. */
function writeFileId(draft: Draft, id: string, place: () => string): Part {
  if (/^https?:\/\//.test(id)) return { fileData: { fileUri: id } };
  throw refuse(draft, `${place()}.file_id`, 'A file id that is no address');
}
