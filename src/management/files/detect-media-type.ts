/** Bytes at the start and at the end of a file that its type is detected from. */
export const SAMPLE_BYTES = 64 * 1024;

/** Known facts about the content of a file. */
export interface FileSample {
  filename: string;
  /** At most `SAMPLE_BYTES` from the start. */
  head: Buffer;
  /** At most `SAMPLE_BYTES` from the end. */
  tail: Buffer;
  bytes: number;
  /** Whether all of it is UTF-8 without NUL. */
  isText: boolean;
}

/** The types of files that callers can upload, for messages. */
export const ACCEPTED_TYPES =
  'PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG and UTF-8 text are accepted';

/**
 * Detects the media type of a file from its content. Only the kind of text depends on the name, too.
 *
 * @returns undefined for any type that is not accepted
 */
export function detectMediaType(sample: FileSample): string | undefined {
  const { head, isText } = sample;
  const signed = findSignature(head) ?? (isZip(head) ? findOfficeType(sample) : undefined);
  if (signed !== undefined) return signed;
  if (isText) return detectTextType(sample);
  return head.subarray(0, PDF_LEAD).includes('%PDF-') ? 'application/pdf' : undefined; // readers accept some bytes before
}

/** Whether the first bytes can be those of an accepted type that is not text. */
export const mayBeBinary = (head: Buffer): boolean =>
  findSignature(head) !== undefined || isZip(head) || head.subarray(0, PDF_LEAD).includes('%PDF-');

/** Bytes before the signature that PDF readers accept. */
const PDF_LEAD = 1024;

const signatures: readonly (readonly [type: string, offset: number, ...bytes: string[]])[] = [
  ['application/pdf', 0, '%PDF-'],
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF87a', 'GIF89a'],
  ['image/webp', 8, 'WEBP'],
  ['audio/wav', 8, 'WAVE'],
  ['audio/flac', 0, 'fLaC'],
  ['audio/ogg', 0, 'OggS'],
  ['audio/mpeg', 0, 'ID3'],
];

function findSignature(head: Buffer): string | undefined {
  const found = signatures.find(
    ([, offset, ...all]) =>
      (offset === 0 || startsWith(head, 'RIFF', 0)) && all.some((bytes) => startsWith(head, bytes, offset)),
  );
  return found?.[0] ?? (isMp3Frame(head) ? 'audio/mpeg' : undefined);
}

/** Whether it starts with the header of an MPEG audio frame of layer III. */
function isMp3Frame(head: Buffer): boolean {
  if (head.length < 4 || head[0] !== 0xff) return false;
  const [, second = 0, third = 0] = head;
  const isLayer3 = (second & 0xe0) === 0xe0 && ((second >> 1) & 3) === 1 && ((second >> 3) & 3) !== 1;
  return isLayer3 && third >> 4 !== 15 && third >> 4 !== 0 && ((third >> 2) & 3) !== 3;
}

const isZip = (head: Buffer): boolean => startsWith(head, 'PK\x03\x04', 0);

const officeTypes: readonly (readonly [folder: string, type: string])[] = [
  ['word/', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xl/', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt/', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
];

/** Detects an Office document by the names in its archive. */
function findOfficeType({ head, tail }: FileSample): string | undefined {
  const names = [...listZipNames(head, 'PK\x03\x04', 26, 30), ...listZipNames(tail, 'PK\x01\x02', 28, 46)];
  if (!names.includes('[Content_Types].xml')) return undefined;
  return officeTypes.find(([folder]) => names.some((name) => name.startsWith(folder)))?.[1];
}

/** Returns the names in the headers of an archive's entries: local ones at its start, central ones at its end. */
function listZipNames(bytes: Buffer, signature: string, lengthAt: number, nameAt: number): string[] {
  const names: string[] = [];
  for (let at = bytes.indexOf(signature, 0, 'latin1'); at !== -1; at = bytes.indexOf(signature, at + 4, 'latin1')) {
    if (at + nameAt > bytes.length) break;
    names.push(bytes.toString('latin1', at + nameAt, at + nameAt + bytes.readUInt16LE(at + lengthAt)));
  }
  return names;
}

const textTypes: Readonly<Record<string, string>> = {
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  md: 'text/markdown',
  markdown: 'text/markdown',
};

/** By the ending of the name. Without a known one, a short text that is a JSON object or list is JSON. */
function detectTextType({ filename, head, bytes }: FileSample): string {
  const ending = /\.([^./]+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';
  if (Object.hasOwn(textTypes, ending)) return textTypes[ending]!;
  return bytes === head.length && isJsonText(head.toString()) ? 'application/json' : 'text/plain';
}

function isJsonText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const startsWith = (bytes: Buffer, signature: string, offset: number): boolean =>
  bytes.length >= offset + signature.length &&
  bytes.toString('latin1', offset, offset + signature.length) === signature;
