import { keepPlaces, placesOf } from '../../domain/input-places.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type InputItem, isKnownItem, isKnownPart, partHolders } from '../../domain/items.ts';
import { createUrlCheck } from '../../domain/reach.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Media, MediaOptions } from '../../platform/outbound/fetch-media.ts';
import { isDataUrl, typeOfName } from '../../domain/data-url.ts';
import { refuseBecause } from '../../providers/kit/draft.ts';
import { copyError } from '../copy-error.ts';
import type { Run, RunMedia } from '../run/run.ts';

/** How URLs are fetched, for endpoints that accept none. */
export interface MediaSource {
  /**
   * Undefined: nothing is fetched; a request that needs it is rejected.
   *
   * @throws {GatewayError} that names the path
   */
  fetch: ((url: string, options: MediaOptions) => Promise<Media>) | undefined;
  /** Bounds of one request. */
  maxBytes: number;
  maxUrls: number;
}

/** Why a request must have no addresses. */
export interface Why {
  /** Begins a sentence. */
  says: string;
  /** Follows "For". */
  whom: string;
}

/** An endpoint that takes no addresses. @param name of the model and the provider */
export const forEndpoint = (name: string): Why => ({
  says: `${name} takes no addresses`,
  whom: 'an endpoint that takes no addresses (urls: fetch)',
});

/** An intern: a provider would open any address for it. @see docs/reference/interns.md#reach */
export const forIntern: Why = { says: 'No provider opens addresses for an intern', whom: 'an intern' };

export const noMediaSource: MediaSource = { fetch: undefined, maxBytes: 0, maxUrls: 0 };

/** Frees the fetched data and its budget, because no other endpoint needs the data. A retry fetches it again. */
export function releaseMedia({ media }: Pick<Run, 'media'>): void {
  if (!media) return;
  for (const found of media.found.values())
    if (!(found instanceof GatewayError)) media.budget.left += found.bytes.length;
  media.found.clear();
}

/** Concurrent fetches of one request. */
const PARALLEL = 4;

/**
 * Returns the request with data instead of the addresses of images, files and videos. Everything that is not a `data:`
 * URL counts as an address, because a model server may parse text leniently that this gateway would not fetch
 * (choice 151). The run keeps the fetched data, because the next endpoint may need it.
 *
 * @param why no address may remain, for messages
 * @returns `request` itself if it has no address
 * @throws {GatewayError} that names the part
 */
export async function inlineUrls(
  run: Run,
  request: ResponseRequest,
  why: Why,
  source: MediaSource,
): Promise<ResponseRequest> {
  const settled = mapParts(request, why, settleFileData);
  const addresses = findAddresses(settled, why);
  const [first] = addresses;
  if (!first) return settled;
  if (!source.fetch) {
    throw refuseBecause(
      first.path,
      `${why.says}, and this gateway fetches none (outbound.fetch): send the data itself.`,
    );
  }
  const different = new Map(addresses.map((address) => [keyOf(address), address]));
  if (different.size > source.maxUrls) {
    throw refuseBecause(first.path, `No more than ${source.maxUrls} addresses are fetched for a request.`);
  }
  run.media ??= { budget: { left: source.maxBytes }, found: new Map() };
  const { found } = run.media;
  await fetchMissing(
    [...different.values()].filter((address) => !found.has(keyOf(address))),
    run,
    run.media,
    source.fetch,
  );
  return mapParts(settled, why, (part) => replaceAddress(part, found));
}

/** A part with a URL. */
interface Address {
  url: string;
  kind: 'image' | 'file';
  path: string;
}

const keyOf = ({ kind, url }: Pick<Address, 'kind' | 'url'>): string => `${kind} ${url}`;

async function fetchMissing(
  addresses: readonly Address[],
  run: Run,
  { budget, found }: RunMedia,
  fetch: NonNullable<MediaSource['fetch']>,
): Promise<void> {
  const { cancellation, caller } = run;
  const queue = addresses.values();
  let count = 0;
  let bytes = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    for (const address of queue) {
      if (isOver) return; // one failure fails the request at this endpoint
      const { url, kind, path } = address;
      try {
        const media = await fetch(url, { kind, path, budget, cancellation, check: createUrlCheck(caller.reach, path) });
        found.set(keyOf(address), media);
        count++;
        bytes += media.bytes.length;
      } catch (error) {
        isOver = true;
        if (!(error instanceof GatewayError) || error.kind === 'permission_denied' || cancellation.reason) throw error;
        // Another endpoint may accept the URL unchanged.
        found.set(keyOf(address), copyError(error, error.message, { retryable: true }));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, addresses.length) }, work));
  if (count === 0) return;
  run.stages.push({
    type: 'media',
    name: 'fetch_urls',
    summary: `Fetched ${count} ${count === 1 ? 'address' : 'addresses'} that no provider may open, ${bytes} bytes in all.`,
    data: { urls: count, bytes },
  });
}

type OpenPart = { type: string } & Record<string, unknown>;

/**
 * Calls a function with each part of the request that may hold an address.
 *
 * @param change returns the part itself, or its replacement
 * @returns `request` itself if no part was replaced
 * @throws {GatewayError} for an item or a part of an unknown kind, which may hold an address anywhere
 */
function mapParts(
  request: ResponseRequest,
  why: Why,
  change: (part: OpenPart, place: () => string) => OpenPart,
): ResponseRequest {
  let isChanged = false;
  const changeAny = (part: unknown, place: () => string): unknown => {
    if (typeof part !== 'object' || part === null) return part; // the text of a prompt variable
    if (!isKnownPart(part as OpenPart)) throw refuseOpaque(place(), why, `the part ${(part as OpenPart).type}`);
    const after = change(part as OpenPart, place); // the checks of `api/responses/` demand a type
    if (after !== part) isChanged = true;
    return after;
  };
  const places = placesOf(request.input);
  const input = request.input.map((item, index) => {
    const at = places?.[index] ?? index;
    if (!isKnownItem(item)) throw refuseOpaque(`input[${at}]`, why, `the item ${item.type}`);
    const holder = partHolders.get(item.type);
    const parts: unknown = holder && item[holder as keyof InputItem];
    if (!holder || !Array.isArray(parts)) return item;
    const changed = parts.map((part, partAt) => changeAny(part, () => `input[${at}].${holder}[${partAt}]`));
    return { ...item, [holder]: changed } as InputItem; // the same item with parts of the same types
  });
  const variables = Object.entries(request.prompt?.variables ?? {}).map(([name, value]) => {
    return [name, changeAny(value, () => `prompt.variables.${name}`)];
  });
  if (!isChanged) return request;
  keepPlaces(input, request.input);
  if (!request.prompt || variables.length === 0) return { ...request, input };
  return { ...request, input, prompt: { ...request.prompt, variables: Object.fromEntries(variables) } };
}

const refuseOpaque = (path: string, { whom }: Why, what: string): GatewayError =>
  refuseBecause(
    path,
    `For ${whom}, the gateway looks at each address, and it does not know where ${what.slice(0, 100)} may have one.`,
  );

/**
 * Makes a data URL of base64 alone, so that no server can take it for the path of a file.
 *
 * @throws {GatewayError} if a file has two sources: one of them would pass unchecked; for audio that is no data
 */
function settleFileData(part: OpenPart, place: () => string): OpenPart {
  const { type, file_data: data, file_url: url, filename } = part;
  if (type === 'input_audio') checkAudio(part, place);
  if (type !== 'input_file' || typeof data !== 'string' || data === '') return part;
  if (url) throw refuseBecause(place(), 'A file has two sources, file_data and file_url: send one of them.');
  if (isDataUrl(data) || data.length % 4 !== 0 || notBase64.test(data)) return part;
  const mediaType = (typeof filename === 'string' ? typeOfName(filename) : undefined) ?? 'application/pdf';
  return { ...part, file_data: `data:${mediaType};base64,${data}` };
}

const notBase64 = /[^A-Za-z0-9+/=]/;

/** @throws {GatewayError} for audio that is no data: some servers take an address in its place */
function checkAudio({ input_audio: audio }: OpenPart, place: () => string): void {
  const { data } = audio as { data?: unknown }; // the schema has checked its shape
  if (typeof data !== 'string' || isDataUrl(data) || !notBase64.test(data)) return;
  throw refuseBecause(`${place()}.input_audio.data`, 'Audio is base64 or a data URL here: send the data itself.');
}

function findAddresses(request: ResponseRequest, why: Why): Address[] {
  const addresses: Address[] = [];
  mapParts(request, why, (part, place) => {
    const field = findField(part);
    if (field) addresses.push({ url: String(part[field]), kind: kindOf(part), path: `${place()}.${field}` });
    return part;
  });
  return addresses;
}

/** Fields that may hold an address, by the type of the part. */
const fields = new Map<string, readonly ('image_url' | 'file_data' | 'file_url' | 'video_url')[]>([
  ['input_image', ['image_url']],
  ['input_file', ['file_data', 'file_url']],
  ['input_video', ['video_url']],
]);

const findField = (part: OpenPart) => fields.get(part.type)?.find((field) => isAddress(part[field]));

const kindOf = ({ type }: OpenPart): Address['kind'] => (type === 'input_image' ? 'image' : 'file');

const isAddress = (value: unknown): boolean => typeof value === 'string' && value !== '' && !isDataUrl(value);

/** @throws the failure of the address */
function replaceAddress(part: OpenPart, found: RunMedia['found']): OpenPart {
  const field = findField(part);
  if (!field) return part;
  const url = String(part[field]);
  const media = found.get(keyOf({ kind: kindOf(part), url }));
  if (media instanceof GatewayError) throw media;
  if (!media) throw new GatewayError('internal', 'An address was not fetched.');
  const data = `data:${media.mediaType};base64,${media.bytes.toString('base64')}`;
  if (part.type !== 'input_file') return { ...part, [field]: data };
  const { file_url: _, ...rest } = part;
  return { ...rest, type: part.type, file_data: data, filename: part['filename'] ?? nameFile(url, media.mediaType) };
}

/** Returns a file name, which some providers require: the end of the path, if it looks like one. */
function nameFile(url: string, mediaType: string): string {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  return /^[\w.-]{1,128}$/.test(last) ? last : mediaType === 'application/pdf' ? 'file.pdf' : 'file';
}
