import { type CallService, ServiceError } from '../../domain/service.ts';

export interface OcrSettings {
  url: string;
  apiKey: string | undefined;
  model: string;
  timeoutMs: number;
}

/** The result of an OCR service. */
export interface OcrText {
  text: string;
  /** Data URLs of images, in order, at most `MAX_IMAGES`. */
  images: string[];
  pages: number;
}

/** Maximum characters of the images of one PDF. Images that do not fit are dropped. */
const MAX_IMAGE_CHARACTERS = 8 * 1024 * 1024;

/** Images of one PDF, and of one request, that are passed on. */
export const MAX_IMAGES = 8;

/** Maximum size of a response: it has images. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a PDF with a service that has the OCR API of Mistral.
 *
 * @throws {ServiceError} and the reason of the signal
 * @see https://docs.mistral.ai/api/endpoint/ocr
 */
export async function readWithOcr(
  call: CallService,
  { url, apiKey, model, timeoutMs }: OcrSettings,
  pdf: Buffer,
  signal: AbortSignal,
): Promise<OcrText> {
  const body = {
    model,
    document: { type: 'document_url', document_url: `data:application/pdf;base64,${pdf.toString('base64')}` },
    include_image_base64: true,
  };
  const request = {
    name: 'The OCR service',
    url: new URL(url),
    headers: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) },
    body,
  };
  return readResponse(await call(request, { timeoutMs, maxBytes: MAX_BYTES, signal }));
}

function readResponse(response: unknown): OcrText {
  const { pages } = (response ?? {}) as { pages?: unknown };
  if (!Array.isArray(pages)) throw new ServiceError('The OCR service responded without pages.', 'malformed');
  const texts: string[] = [];
  const images: string[] = [];
  let charactersLeft = MAX_IMAGE_CHARACTERS;
  for (const page of pages as ({ markdown?: unknown; images?: unknown } | null)[]) {
    const { markdown, images: found } = page ?? {};
    if (typeof markdown === 'string' && markdown.trim() !== '') texts.push(markdown.trim().toWellFormed());
    for (const image of Array.isArray(found) ? found : []) {
      const data = readImage((image as { image_base64?: unknown } | null)?.image_base64);
      if (data === undefined || images.length === MAX_IMAGES || data.length > charactersLeft) continue;
      images.push(data);
      charactersLeft -= data.length;
    }
  }
  return { text: texts.join('\n\n'), images, pages: pages.length };
}

/** The first bytes of formats that models accept, in base64. */
const types: readonly (readonly [start: string, type: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
];

/** @returns a data URL with the type that the bytes have; undefined if it is not an image that models accept */
function readImage(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  const data = given.startsWith('data:') ? given.slice(given.indexOf(',') + 1) : given;
  const type = types.find(([start]) => data.startsWith(start))?.[1];
  return type === undefined || notBase64.test(data) ? undefined : `data:${type};base64,${data}`;
}

const notBase64 = /[^A-Za-z0-9+/=]/;
