import type { EncryptedContentPart, MessagePart } from '../../domain/items.ts';
import { type Draft, dropUnknown, refuse } from '../draft.ts';
import type { Dialect } from './dialect.ts';
import type { ModelTraits } from './models.ts';
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
 * Writes the parts of a message or of a tool output; texts of nothing are left out.
 *
 * @param path of the list: `input[3].content`
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
    const fields = known[part.type];
    if (fields === undefined) throw refuse(draft, place(), `A part of type ${(part as { type: string }).type}`);
    dropUnknown(draft, part, fields, place);
    const after = writePart(draft, part, place);
    if (after) written.push(after);
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
      if (part.image_url) return writeMedia(draft, part.image_url, 'image/jpeg', place);
      if (part.file_id) return writeFileId(draft, part.file_id, place);
      throw refuse(draft, place(), 'An image without URL and file id');
    case 'input_file': {
      const { file_data: data, file_url: url, file_id: id, filename } = part;
      if (data && url) draft.dropped.push(`${place()}.file_url`);
      if (filename) draft.dropped.push(`${place()}.filename`);
      const type = typeOf(filename ?? '') ?? 'application/pdf';
      if (data && !/^(?:data:|https?:)/.test(data)) return { inlineData: { mimeType: type, data } };
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

const dataUrl = /^data:([^;,]*)((?:;[^;,]*)*),/;

function writeMedia(draft: Draft, url: string, otherwise: string, place: () => string): Part {
  if (!url.startsWith('data:')) return writeAddress(url, otherwise);
  const head = dataUrl.exec(url);
  if (head === null || !head[2]!.endsWith(';base64')) throw refuse(draft, place(), 'A data URL that is not base64');
  return { inlineData: { mimeType: head[1]!.toLowerCase() || otherwise, data: url.slice(head[0].length) } };
}

/** Videos of the provider's own site are known by their address alone. */
function writeAddress(url: string, otherwise: string): Part {
  if (/^https:\/\/(?:www\.)?(?:youtube\.com|youtu\.be)\//.test(url)) return { fileData: { fileUri: url } };
  return { fileData: { mimeType: typeOf(url.replace(/[?#].*$/, '')) ?? otherwise, fileUri: url } };
}

/** A file id of this provider is an address. */
function writeFileId(draft: Draft, id: string, place: () => string): Part {
  if (/^https?:\/\//.test(id)) return { fileData: { fileUri: id } };
  throw refuse(draft, `${place()}.file_id`, 'A file id that is no address');
}

const types: Record<string, string> = {
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', webp: 'image/webp', gif: 'image/gif' },
  ...{ heic: 'image/heic', heif: 'image/heif', pdf: 'application/pdf', mp3: 'audio/mp3', wav: 'audio/wav' },
  ...{ mp4: 'video/mp4', mov: 'video/mov', webm: 'video/webm', mpeg: 'video/mpeg', txt: 'text/plain' },
  ...{ md: 'text/markdown', csv: 'text/csv', html: 'text/html', xml: 'text/xml', json: 'application/json' },
};

const typeOf = (name: string): string | undefined => types[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ''];
