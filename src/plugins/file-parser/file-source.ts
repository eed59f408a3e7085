import { isDataUrl, readDataUrl, typeOfName } from '../../domain/data-url.ts';
import type { InputFilePart } from '../../domain/items.ts';
import type { DeclaredType } from './extract/extract-file.ts';
import { FileFault } from './extract/file-fault.ts';

/** Where the bytes of a file are. */
export type FileSource =
  | { type: 'url'; url: string }
  | { type: 'data'; bytes: Buffer; declared: DeclaredType }
  /** A file id, which only a provider knows. */
  | { type: 'id' };

/** Returns the source of a part. Some clients send a URL in `file_data`. */
export function readSource({ file_data: data, file_url: url, filename }: InputFilePart): FileSource {
  if (data && isUrl(data)) return { type: 'url', url: data };
  if (data) return readData(data, filename);
  return url ? (isDataUrl(url) ? readData(url, filename) : { type: 'url', url }) : { type: 'id' };
}

/** Whether a part names a file that only a provider has. */
export const isFileId = ({ file_data: data, file_url: url }: InputFilePart): boolean => !data && !url;

/** Whether the bytes of a part, or else its URL, begin or end like those of an Office file. Decodes nothing. */
export function looksLikeOffice({ file_data: data, file_url: url }: InputFilePart): boolean {
  const given = data || url || '';
  if (isUrl(given)) return officeName.test(URL.parse(given)?.pathname ?? '');
  const start = isDataUrl(given) ? given.indexOf(',') + 1 : 0;
  return officeStarts.some((bytes) => given.startsWith(bytes, start));
}

const isUrl = (text: string): boolean => /^https?:/i.test(text);
const officeName = /\.(?:docx|docm|xlsx|xlsm|pptx|pptm|doc|xls|ppt)$/i;
/** The first bytes of a ZIP archive and of the older Office formats, in base64. */
const officeStarts = ['UEsDB', '0M8R4KGxGuE'];

function readData(data: string, filename: string | undefined): FileSource {
  const named = typeOfName(filename ?? '') ?? '';
  if (!isDataUrl(data)) {
    if (notBase64.test(data))
      throw new FileFault('Its data is neither base64 nor a data URL nor an http or https URL.');
    return { type: 'data', bytes: Buffer.from(data, 'base64'), declared: { mediaType: named } };
  }
  const { mediaType, charset, isBase64, data: encoded } = readDataUrl(data) ?? { ...nothing };
  return {
    type: 'data',
    bytes: isBase64 ? Buffer.from(encoded, 'base64') : Buffer.from(decodePercent(encoded)),
    declared: { mediaType: mediaType || named, charset },
  };
}

/** Both alphabets of base64, padding, and line breaks. */
const notBase64 = /[^A-Za-z0-9+/_=\s-]/;

const nothing = { mediaType: '', charset: undefined, isBase64: true, data: '' };

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a text with a single percent sign
  }
}

const MAX_NAME = 200;

/** Returns the name of a file: as given, or the end of its URL. */
export function nameOf({ filename, file_url: url, file_data: data }: InputFilePart): string | undefined {
  if (filename) return filename.slice(0, MAX_NAME);
  const address = data && isUrl(data) ? data : url;
  const last = (address && !isDataUrl(address) && URL.parse(address)?.pathname.split('/').at(-1)) || undefined;
  return last?.slice(0, MAX_NAME);
}
