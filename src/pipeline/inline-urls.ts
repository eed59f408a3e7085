import { GatewayError } from '../domain/errors.ts';
import type { InputItem } from '../domain/items.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { Media, MediaOptions } from '../platform/outbound/fetch-media.ts';
import { refuseBecause } from '../providers/draft.ts';
import { copyError } from './copy-error.ts';
import type { Run } from './run.ts';

/** How addresses are fetched, for endpoints that take none. */
export interface MediaSource {
  /**
   * Undefined: nothing is fetched; a request that needs it is refused.
   *
   * @throws {GatewayError} that names the path
   */
  fetch: ((url: string, options: MediaOptions) => Promise<Media>) | undefined;
  /** Of one request. */
  maxBytes: number;
  maxUrls: number;
}

export const nothingFetched: MediaSource = { fetch: undefined, maxBytes: 0, maxUrls: 0 };

/** What the addresses of a run have led to so far: what was there, or why it was not to be had. */
export interface RunMedia {
  budget: { left: number };
  found: Map<string, Media | GatewayError>;
}

/** Fetches of one request that are under way at once. */
const PARALLEL = 4;

/**
 * The request with data in place of the addresses of pictures and files. What was fetched is kept with the run, since the
 * next endpoint may need it, too.
 *
 * @param endpoint for messages
 * @returns `request` itself when there is no address in it
 * @throws {GatewayError} that names the part
 */
export async function inlineUrls(
  run: Run,
  request: ResponseRequest,
  endpoint: string,
  source: MediaSource,
): Promise<ResponseRequest> {
  const addresses = findAddresses(request.input);
  const [first] = addresses;
  if (!first) return request;
  if (!source.fetch) {
    throw refuseBecause(
      first.path,
      `${endpoint} takes no addresses, and this gateway fetches none (outbound.fetch): send the data itself.`,
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
  return { ...request, input: replaceAddresses(request.input, found) };
}

/** A part that points elsewhere. */
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
  const { cancellation } = run;
  const queue = addresses.values();
  let count = 0;
  let bytes = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    for (const address of queue) {
      if (isOver) return; // with one of them the request has failed here
      const { url, kind, path } = address;
      try {
        const media = await fetch(url, { kind, path, budget, cancellation });
        found.set(keyOf(address), media);
        count++;
        bytes += media.bytes.length;
      } catch (error) {
        isOver = true;
        if (!(error instanceof GatewayError) || cancellation.reason) throw error;
        // Another endpoint may take the address as it is.
        found.set(keyOf(address), copyError(error, error.message, { retryable: true }));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, addresses.length) }, work));
  if (count === 0) return;
  run.stages.push({
    type: 'media',
    name: 'fetch_urls',
    summary: `Fetched ${count} ${count === 1 ? 'address' : 'addresses'} for endpoints that take none, ${bytes} bytes in all.`,
    data: { urls: count, bytes },
  });
}

/** Fields that hold parts, by the type of their item. */
const holders: Partial<Record<InputItem['type'], 'content' | 'output'>> = {
  message: 'content',
  agent_message: 'content',
  function_call_output: 'output',
  custom_tool_call_output: 'output',
};

type OpenPart = { type: string } & Record<string, unknown>;

function findAddresses(items: readonly InputItem[]): Address[] {
  return items.flatMap((item, at) => {
    const holder = holders[item.type];
    const parts: unknown = holder && item[holder as keyof InputItem];
    if (!Array.isArray(parts)) return [];
    return parts.flatMap((part: OpenPart, index) => {
      const place = findField(part);
      if (!place) return [];
      return [
        { url: String(part[place.field]), kind: place.kind, path: `input[${at}].${holder}[${index}].${place.field}` },
      ];
    });
  });
}

/** The field of a part that points elsewhere, in the order in which the wires look at them. */
function findField(
  part: OpenPart,
): { field: 'image_url' | 'file_data' | 'file_url'; kind: Address['kind'] } | undefined {
  if (part.type === 'input_image')
    return isAddress(part['image_url']) ? { field: 'image_url', kind: 'image' } : undefined;
  if (part.type !== 'input_file') return undefined;
  if (part['file_data']) return isAddress(part['file_data']) ? { field: 'file_data', kind: 'file' } : undefined;
  return isAddress(part['file_url']) ? { field: 'file_url', kind: 'file' } : undefined;
}

/** Anything with a scheme but for data; which schemes are fetched is the guard's to say. */
const isAddress = (value: unknown): boolean =>
  typeof value === 'string' && /^(?!data:)[a-z][a-z0-9+.-]*:/i.test(value.trimStart());

/** @throws the failure of an address */
function replaceAddresses(items: InputItem[], found: RunMedia['found']): InputItem[] {
  return items.map((item) => {
    const holder = holders[item.type];
    const parts: unknown = holder && item[holder as keyof InputItem];
    if (!holder || !Array.isArray(parts) || !parts.some(findField)) return item;
    // The same item with other parts of the same types.
    return { ...item, [holder]: parts.map((part: OpenPart) => replacePart(part, found)) } as InputItem;
  });
}

function replacePart(part: OpenPart, found: RunMedia['found']): OpenPart {
  const place = findField(part);
  if (!place) return part;
  const url = String(part[place.field]);
  const media = found.get(keyOf({ kind: place.kind, url }));
  if (media instanceof GatewayError) throw media;
  if (!media) throw new GatewayError('internal', 'An address was not fetched.');
  const data = `data:${media.mediaType};base64,${media.bytes.toString('base64')}`;
  if (place.kind === 'image') return { ...part, image_url: data };
  const { file_url: _, ...rest } = part;
  return { ...rest, type: part.type, file_data: data, filename: part['filename'] ?? nameFile(url, media.mediaType) };
}

/** Some providers want a name: the last of the path, where it looks like one. */
function nameFile(url: string, mediaType: string): string {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  return /^[\w.-]{1,128}$/.test(last) ? last : mediaType === 'application/pdf' ? 'file.pdf' : 'file';
}
