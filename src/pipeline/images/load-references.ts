import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { ImageDigest } from '../../domain/image-digest.ts';
import type { EncodedImage } from '../../domain/images.ts';
import { createUrlCheck, findAddress, refuseReach } from '../../domain/reach.ts';
import type { ImageRun } from '../run/image-run.ts';
import { isLogged } from '../run/run.ts';

/** The limits of one reference, and of all of them together. */
export interface FetchLimits {
  maxBytes: number;
  budget: { left: number };
}

/** How references are fetched and checked. `path` is the field that names a reference, for messages. */
export interface ReferenceParts {
  /** Maximum bytes of one reference. */
  reference: number;
  /** Maximum bytes of all fetched references. The body limit applies to references in the body. */
  fetched: number;
  /**
   * @param limits `budget` is reduced by the bytes read
   * @throws {GatewayError} `image_download_failed`, `image_not_found`, `image_too_large`
   */
  fetchReference: (
    url: string,
    path: string,
    limits: FetchLimits,
    options: { cancellation: Cancellation; check: ((url: URL) => void) | undefined },
  ) => Promise<Buffer>;
  /**
   * Checks the content.
   *
   * @throws {GatewayError} `invalid_image`, `unsupported_image_format`, `image_too_large`, `image_too_small`
   */
  checkReference: (
    bytes: Buffer,
    path: string,
    limitBytes: number,
    cancellation: Cancellation,
  ) => Promise<EncodedImage>;
}

/**
 * Loads the references of a run, in order, and detects their types by their content.
 *
 * @throws {GatewayError} `permission_denied` if an intern has an address in the options of a provider; that names the reference, with the `error_type` of docs/reference/images.md#errors
 */
export async function loadReferences(run: ImageRun, parts: ReferenceParts): Promise<void> {
  const { input_references: urls = [], provider } = run.request;
  if (run.caller.reach && findAddress(provider?.options) !== undefined) {
    throw refuseReach('provider.options', 'has an address, which a provider would open. Interns send the data itself.');
  }
  const loaded: EncodedImage[] = [];
  const limits: FetchLimits = { maxBytes: parts.reference, budget: { left: parts.fetched } };
  for (const [index, url] of urls.entries()) loaded.push(await loadReference(run, url, index, parts, limits));
  run.references = isLogged(run) ? loaded.map((image) => ({ ...image, digest: new ImageDigest(image) })) : loaded;
}

async function loadReference(
  { cancellation, caller: { reach } }: ImageRun,
  url: string,
  index: number,
  { reference, fetchReference, checkReference }: ReferenceParts,
  limits: FetchLimits,
): Promise<EncodedImage> {
  const path = `input_references[${index}].image_url.url`;
  const isInline = /^data:/i.test(url);
  const options = { cancellation, check: createUrlCheck(reach, path) };
  const bytes = isInline ? decode(url, path) : await fetchReference(url, path, limits, options);
  const image = await checkReference(bytes, path, reference, cancellation);
  if (cancellation.reason) throw cancellation.reason;
  return image;
}

/** Decodes a data URL. Ignores its media type. @see RFC 2397 */
function decode(url: string, path: string): Buffer {
  const comma = url.indexOf(',');
  const head = url.slice(0, comma === -1 ? 0 : comma);
  if (!/;\s*base64$/i.test(head)) {
    throw refuse(path, 'is a data URL without base64; write data:<type>;base64,<data>');
  }
  const text = url.slice(comma + 1);
  const bytes = Buffer.from(text, 'base64');
  const letters = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  // Node skips invalid base64 characters, and then returns fewer bytes than the length of the text implies.
  if (bytes.length === 0 || bytes.length !== Math.floor((letters * 3) / 4)) throw refuse(path, 'holds no valid base64');
  return bytes;
}

function refuse(path: string, says: string): GatewayError {
  const message = `The reference ${says}.`;
  return new GatewayError('invalid_request', `${path}: ${message}`, {
    errorType: 'invalid_image',
    metadata: { param: path, issues: [{ path, message }] },
  });
}
