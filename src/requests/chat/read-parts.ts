import type { Static } from 'typebox';
import type { CacheControl, InputFilePart, InputImagePart, InputPart, MessagePart } from '../../domain/items.ts';
import type { NativePart } from '../../domain/native.ts';
import type { answerPart, chatPart } from './schema/parts.ts';

type UserPart = Static<typeof chatPart>;
type AssistantPart = Static<typeof answerPart>;

/** Reads the parts of a message that the model reads. Each part becomes one part. */
export const readUserParts = (parts: readonly UserPart[]): InputPart[] => parts.map(readUserPart);

/** Reads the parts of an assistant message. */
export const readAssistantParts = (parts: readonly AssistantPart[]): MessagePart[] =>
  parts.map((part): MessagePart => {
    if (part.type === 'refusal') return { type: 'refusal', refusal: part.refusal };
    if (part.type !== 'text') return readUserPart(part);
    return withMark({ type: 'output_text', text: part.text }, part);
  });

function readUserPart(part: UserPart): InputPart {
  switch (part.type) {
    case 'text':
      return withMark({ type: 'input_text', text: part.text }, part);
    case 'image_url': {
      const { url, detail } = part.image_url;
      const image: InputImagePart = { type: 'input_image', image_url: url };
      if (detail) image.detail = detail;
      return withMark(image, part);
    }
    case 'file': {
      const { file_data: data, file_id: id, filename } = part.file;
      const file: InputFilePart = { type: 'input_file' };
      if (data) file[isLink(data) ? 'file_url' : 'file_data'] = data;
      if (id) file.file_id = id;
      if (filename) file.filename = filename;
      return withMark(file, part);
    }
    case 'input_audio':
      return withMark({ type: 'input_audio', input_audio: part.input_audio }, part);
    case 'video_url':
      return withMark({ type: 'input_video', video_url: part.video_url.url }, part);
    default:
      return readAudioUrl(part) ?? writeUnknown(part);
  }
}

/** Reads the part `audio_url` of vLLM and its clients, if it has the data of a format that the interface knows. */
function readAudioUrl(part: { type: string } & Marks): InputPart | undefined {
  if (part.type !== 'audio_url') return undefined;
  const { url } = ((part as { audio_url?: unknown }).audio_url ?? {}) as { url?: unknown };
  const found = typeof url === 'string' ? audioData.exec(url) : null;
  if (!found) return undefined;
  const format = /wav/i.test(found[1]!) ? 'wav' : 'mp3';
  return withMark({ type: 'input_audio', input_audio: { data: found.input.slice(found[0].length), format } }, part);
}

const audioData = /^data:audio\/(wav|x-wav|wave|mp3|mpeg);base64,/i;

/** A part that only a provider of the format may know. Wires of other formats reject it. */
function writeUnknown(part: { type: string }): InputPart {
  const written: NativePart = { type: `chat:${part.type}`, block: part };
  return written as unknown as InputPart; // parts of unknown kinds pass as one
}

const isLink = (data: string): boolean => /^https?:/i.test(data);

/** Copies the marks of a prompt cache: that of Anthropic, and that of OpenAI. */
function withMark<Part extends MessagePart>(
  part: Part,
  { cache_control: mark, prompt_cache_breakpoint: end }: Marks,
): Part {
  if (mark) (part as Marks).cache_control = mark;
  if (end) (part as Marks).prompt_cache_breakpoint = end;
  return part;
}

interface Marks {
  cache_control?: CacheControl | null;
  prompt_cache_breakpoint?: { mode: 'explicit' } | null;
}
