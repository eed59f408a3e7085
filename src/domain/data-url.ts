/** The parts of a `data:` URL. */
export interface DataUrl {
  /** Lower case, without parameters. Empty if the URL names none. */
  mediaType: string;
  isBase64: boolean;
  /** The encoding of a text, if the URL names one. */
  charset: string | undefined;
  /** As it is in the URL: base64 or percent-encoded. */
  data: string;
}

/**
 * Maximum characters before the comma. A media type has at most 255 (RFC 6838 section 4.2). The rest is for parameters.
 */
const MAX_HEAD = 1024;

/** Whether the text uses the scheme `data:`, in upper or lower case. */
export const isDataUrl = (text: string): boolean => /^data:/i.test(text);

/**
 * Splits a `data:` URL (RFC 2397) in linear time. Searches only the head, because the data may be megabytes.
 *
 * @returns undefined if the text is not a data URL, has no comma, or has a head that is too long
 */
export function readDataUrl(text: string): DataUrl | undefined {
  if (!isDataUrl(text)) return undefined;
  const comma = text.slice(0, MAX_HEAD).indexOf(',');
  if (comma === -1) return undefined;
  const [mediaType = '', ...parameters] = text.slice('data:'.length, comma).split(';');
  return {
    mediaType: mediaType.trim().toLowerCase(),
    isBase64: parameters.at(-1)?.trim().toLowerCase() === 'base64',
    charset: parameters.map((parameter) => /^\s*charset="?([\w.:-]+)"?\s*$/i.exec(parameter)?.[1]).find(Boolean),
    data: text.slice(comma + 1),
  };
}

/** Returns the media type for a file name's extension, or undefined if the extension is unknown. */
export const typeOfName = (name: string): string | undefined =>
  types.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase());

const types = new Map([
  ...Object.entries({ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', webp: 'image/webp', gif: 'image/gif' }),
  ...Object.entries({ heic: 'image/heic', heif: 'image/heif', mp3: 'audio/mp3', wav: 'audio/wav' }),
  ...Object.entries({ mp4: 'video/mp4', mov: 'video/mov', webm: 'video/webm', mpeg: 'video/mpeg' }),
  ...Object.entries({ pdf: 'application/pdf', json: 'application/json', xml: 'text/xml', csv: 'text/csv' }),
  ...Object.entries({ html: 'text/html', htm: 'text/html', md: 'text/markdown', txt: 'text/plain' }),
  ...Object.entries({ yaml: 'text/plain', yml: 'text/plain', log: 'text/plain' }),
]);

const textTypes = /^(?:text\/|application\/(?:json|xml|x-yaml|yaml|javascript)$)/;

/**
 * Reads a text file from `file_data`, which some formats send to a model as text.
 *
 * @param fileData a data URL, or base64 of a file whose name tells its type
 * @returns undefined if it is no text, or malformed
 */
export function readTextFile(
  fileData: string,
  filename: string | undefined,
): { text: string; mediaType: string } | undefined {
  const url = readDataUrl(fileData);
  const mediaType = url?.mediaType ?? (filename === undefined ? undefined : typeOfName(filename));
  if (mediaType === undefined || !textTypes.test(mediaType) || /^https?:/i.test(fileData)) return undefined;
  try {
    const { isBase64, data } = url ?? { isBase64: true, data: fileData };
    return { text: isBase64 ? Buffer.from(data, 'base64').toString('utf8') : decodeURIComponent(data), mediaType };
  } catch {
    return undefined; // a % without two hex digits
  }
}
