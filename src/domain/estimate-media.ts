/** The fields of a content part that show how much media it has. */
interface MediaPart {
  type?: unknown;
  detail?: unknown;
  file_data?: unknown;
  input_audio?: unknown;
}

/**
 * Estimates the input tokens of an image, a file, audio or a video: providers count them in their own ways, from sizes
 * that are not known before they are decoded.
 *
 * @returns undefined for any other part
 * @see docs/reference/choices.md, choice 371
 */
export function estimateMedia(part: MediaPart): number | undefined {
  switch (part.type) {
    case 'input_image':
      return part.detail === 'low' ? SMALL_IMAGE : IMAGE;
    case 'input_file':
      return typeof part.file_data === 'string' ? estimateFile(part.file_data) : LINKED_FILE;
    case 'input_audio':
      return estimateAudio(part.input_audio);
    case 'input_video':
      return VIDEO;
    default:
      return undefined;
  }
}

const SMALL_IMAGE = 85;
export const IMAGE = 1_000;
/** A file without its data. */
const LINKED_FILE = 5_000;
const VIDEO = 10_000;
/** A page of a PDF has about 60 KB and 1,500 tokens. */
const BYTES_PER_FILE_TOKEN = 40;
const BYTES_PER_TEXT_TOKEN = 4;
/** 32 tokens per second: of MP3 at 128 kbit/s, and of 16-bit WAV at 24 kHz. */
const BYTES_PER_MP3_TOKEN = 500;
const BYTES_PER_WAV_TOKEN = 1_500;

const sizeOfBase64 = (data: string): number => data.length * 0.75;

function estimateFile(data: string): number {
  const bytes = sizeOfBase64(data);
  if (data.startsWith('data:text/')) return bytes / BYTES_PER_TEXT_TOKEN;
  return Math.max(IMAGE, bytes / BYTES_PER_FILE_TOKEN);
}

function estimateAudio(audio: unknown): number {
  const { data, format } = (audio ?? {}) as { data?: unknown; format?: unknown };
  const bytes = typeof data === 'string' ? sizeOfBase64(data) : 0;
  return bytes / (format === 'wav' ? BYTES_PER_WAV_TOKEN : BYTES_PER_MP3_TOKEN);
}
