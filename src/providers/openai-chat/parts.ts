import { type CacheControl, type EncryptedContentPart, isKnownPart, type MessagePart } from '../../domain/items.ts';
import { isNativePart, type NativePart, UNTITLED_DOCUMENT } from '../../domain/native.ts';
import { dropOtherSources, dropUnknown, refuse, refuseKind } from '../kit/draft.ts';
import type { ChatDraft } from './draft.ts';
import type { ChatPart } from './wire.ts';

type Part = MessagePart | EncryptedContentPart;

/** The content of one message, in the two fields of chat completions. */
export interface MessageContent {
  /** A string if there is only text. Null if there is only a refusal. */
  content: string | ChatPart[] | null;
  refusal?: string;
}

const knownFields: Record<Part['type'], ReadonlySet<string>> = {
  input_text: new Set(['type', 'text']),
  output_text: new Set(['type', 'text']),
  refusal: new Set(['type', 'refusal']),
  input_image: new Set(['type', 'image_url', 'detail', 'file_id']),
  input_file: new Set(['type', 'file_data', 'file_url', 'file_id', 'filename']),
  input_audio: new Set(['type', 'input_audio']),
  input_video: new Set(['type', 'video_url']),
  encrypted_content: new Set(['type']),
};
const textWithBreakpoint = new Set(['type', 'text', 'cache_control', 'prompt_cache_breakpoint']);

/**
 * Writes the parts of a message or of a tool output. Several texts without other parts become one string, joined by a
 * line feed, because many servers accept only a string.
 *
 * @param listPlace returns the path of the list: `input[3].content`
 */
export function writeMessageContent(
  draft: ChatDraft,
  parts: string | readonly Part[] | null | undefined,
  listPlace: () => string,
): MessageContent {
  if (typeof parts === 'string') return { content: parts };
  if (!parts) return { content: '' };
  const written: ChatPart[] = [];
  let refusal: string | undefined;
  let plain = true;
  let current = 0;
  const place = () => `${listPlace()}[${current}]`;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    current = index;
    const isText = part.type === 'input_text' || part.type === 'output_text';
    if (draft.keepsNative && isNativePart(part)) {
      plain = false;
      written.push((part as NativePart).block as unknown as ChatPart); // of a kind that only the provider knows
      continue;
    }
    if (!isKnownPart(part)) throw refuseKind(draft, place(), 'part', (part as { type: string }).type);
    const known = isText && draft.dialect.cache_control ? textWithBreakpoint : knownFields[part.type];
    dropUnknown(draft, part, known, place);
    if (part.type === 'refusal') {
      refusal = refusal === undefined ? part.refusal : `${refusal}\n${part.refusal}`;
    } else if (part.type !== 'encrypted_content') {
      const chatPart = writePart(draft, part, place);
      if (chatPart.type !== 'text' || chatPart.cache_control || chatPart.prompt_cache_breakpoint) plain = false;
      written.push(chatPart);
    }
  }
  const content = plain ? joinText(written) : written;
  return refusal === undefined ? { content } : { content: content === '' ? null : content, refusal };
}

function joinText(parts: ChatPart[]): string {
  let text = '';
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    if (part.type === 'text') text = index === 0 ? part.text : `${text}\n${part.text}`;
  }
  return text;
}

/** Only Anthropic itself knows the scope of a mark. Source: maximhq/bifrost#1558 */
export function withoutScope({ dropped }: ChatDraft, mark: CacheControl): CacheControl {
  if (!('scope' in mark)) return mark;
  if (!dropped.includes('cache_control.scope')) dropped.push('cache_control.scope');
  const { scope: _, ...rest } = mark;
  return rest;
}

type CarriedPart = Exclude<Part, { type: 'refusal' | 'encrypted_content' }>;

function writePart(draft: ChatDraft, part: CarriedPart, place: () => string): ChatPart {
  switch (part.type) {
    case 'input_text': {
      const text: ChatPart = { type: 'text', text: part.text };
      if (draft.dialect.cache_control) {
        if (part.cache_control) text.cache_control = withoutScope(draft, part.cache_control);
        if (part.prompt_cache_breakpoint) text.prompt_cache_breakpoint = part.prompt_cache_breakpoint;
      }
      return text;
    }
    case 'output_text': {
      const text: ChatPart = { type: 'text', text: part.text };
      const { cache_control: mark } = part as { cache_control?: CacheControl };
      if (mark && draft.dialect.cache_control) text.cache_control = withoutScope(draft, mark);
      return text;
    }
    case 'input_image': {
      if (!part.image_url) throw refuse(draft, `${place()}.file_id`, 'An image given by file id');
      dropOtherSources(draft, part, 'image_url', place);
      return { type: 'image_url', image_url: writeImage(draft, part.image_url, part.detail, place) };
    }
    case 'input_file': {
      const file: { file_data?: string; file_id?: string; filename?: string } = {};
      const data = part.file_data ?? part.file_url;
      if (data) file.file_data = data;
      if (part.file_data && part.file_url) draft.dropped.push(`${place()}.file_url`);
      if (part.file_id) file.file_id = part.file_id;
      const name = part.filename || (part.file_data ? UNTITLED_DOCUMENT : undefined);
      if (name) file.filename = name;
      return { type: 'file', file };
    }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio };
    case 'input_video':
      return { type: 'video_url', video_url: { url: part.video_url } };
  }
}

function writeImage(draft: ChatDraft, url: string, detail: string | undefined, place: () => string) {
  if (detail === undefined) return { url };
  if (detail !== 'original') return { url, detail };
  draft.dropped.push(`${place()}.detail (original → high)`); // responses-items 1.1
  return { url, detail: 'high' };
}
