import { Cancellation } from '../domain/cancellation.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { ImageFacts } from '../domain/images.ts';
import { KeyRing } from './key-ring.ts';
import type { Wire } from './wire.ts';
import { createUpstream, type Upstream, type UpstreamTimeouts } from './transport.ts';
import { type Probe, WireFinder } from './wire-finder.ts';

/** A configured provider: data, and the pool to its origin. */
export interface Provider {
  readonly id: string;
  /** Shown in metadata and messages. */
  readonly name: string;
  /** Its protocol. If its server may speak one of several: the one that was found, or the likelier one. */
  readonly wire: Wire;
  /** How it finds out which of several protocols its server speaks. Absent: there is one alone. */
  readonly finder?: WireFinder;
  readonly baseUrl?: string | undefined;
  readonly dialect: Readonly<Record<string, unknown>>;
  /** The network; undefined for a wire that answers inside this process. */
  readonly upstream: Upstream | undefined;
  /** How long the first byte of an image may take, in milliseconds. */
  readonly imageFirstByteMs: number;
  /**
   * Where an address of the provider leads: its own host, or one that its wire names.
   *
   * @returns undefined for any other: the key must not go there
   */
  upstreamOf(url: URL): Upstream | undefined;
  readonly keys: KeyRing;
  /** Undefined: a failed request is not sent again. */
  readonly retry?: RetryPolicy | undefined;
  /** @returns the headers of a request with that key of the ring, as a flat list */
  headersFor(key: number, stream: boolean): string[];
  /** Takes the operator's keys out of what the provider said. */
  maskKeys(text: string): string;
  /** Lets the requests that are in flight finish; `now` cuts them. */
  close(now: boolean): Promise<void>;
}

/** A model at a provider. */
export interface Endpoint extends EndpointFacts {
  readonly provider: Provider;
  readonly upstreamModel: string;
  /** The slug of the configuration, when `model` is one that its `*` matched. */
  readonly pattern?: string;
  /** Takes no addresses of images and files: what is there must be fetched, and sent as data. */
  readonly needsData?: boolean;
  /** Of a `*`: what is known of images once it is clear which model is meant. */
  readonly imageOf?: (upstreamModel: string) => ImageFacts | undefined;
}

/** An endpoint of which nothing is known but where it is. */
export const bareEndpoint = (provider: Provider, model: string, upstreamModel: string): Endpoint => ({
  id: `${model}@${provider.id}`,
  provider,
  model,
  upstreamModel,
  tag: provider.id,
  tier: undefined,
  pricing: undefined,
  contextLength: undefined,
  maxOutputTokens: undefined,
  maxPromptTokens: undefined,
  quantization: undefined,
  parameters: undefined,
  capabilities: {},
  reasoning: undefined,
  image: undefined,
  generatesText: true,
  retainsData: undefined,
  trainsOnData: undefined,
  distillable: undefined,
  workspace: undefined,
  isFallbackKey: false,
  weight: 1,
});

export interface ProviderEntry {
  id: string;
  name: string;
  wire: Wire;
  /** Other protocols that its server may speak instead. */
  otherWires?: readonly Wire[];
  baseUrl?: string;
  apiKeys: readonly string[];
  headers: Readonly<Record<string, string>>;
  timeouts: UpstreamTimeouts;
  /** Absent: nothing is sent again. */
  retry?: RetryPolicy;
  /** How long the first byte of an image may take; absent: as any other. */
  imageFirstByteMs?: number;
  dialect: Readonly<Record<string, unknown>>;
  /** The npm package behind the wire `ai-sdk`, the function that makes its provider, and what that is given. */
  package?: string;
  factory?: string;
  settings?: Readonly<Record<string, unknown>>;
}

/** Hosts of one provider that its images are asked for at. */
const MAX_ORIGINS = 20;

/** How long a server may take to say which protocol it speaks. */
const PROBE_MS = 5_000;

/**
 * @param before the same provider before a reload: what was found out about its server stays known
 * @throws {Error} when a dialect setting is not one of the wire, or a package is missing; for the operator
 */
export function createProvider(entry: ProviderEntry, before?: Provider): Provider {
  const { otherWires = [] } = entry;
  const wire = entry.wire.forProvider?.(entry) ?? entry.wire;
  for (const each of [wire, ...otherWires]) each.checkDialect?.(entry.dialect);
  const own = Object.fromEntries(Object.entries(entry.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const headersFor = (key: string | undefined, stream: boolean) =>
    Object.entries({
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      'user-agent': 'headgate',
      ...wire.headers,
      ...(key === undefined ? undefined : wire.authorize(key)),
      ...own,
    }).flat();
  const keys = entry.apiKeys.length === 0 ? [undefined] : entry.apiKeys;
  const whole = keys.map((key) => headersFor(key, false));
  const streamed = keys.map((key) => headersFor(key, true));
  // The longest first: one may hold another, as a header holds the token after `Bearer`.
  const secrets = [
    ...entry.apiKeys,
    ...findTexts(entry.settings),
    ...Object.values(own).flatMap((value) => findTexts([value, ...value.split(' ')])),
  ].sort((a, b) => b.length - a.length);
  const upstreamAt = (baseUrl: string) => createUpstream({ name: entry.name, baseUrl, timeouts: entry.timeouts });
  const isInside = wire.text?.send !== undefined || wire.image?.send !== undefined;
  const upstream = isInside || entry.baseUrl === undefined ? undefined : upstreamAt(entry.baseUrl);
  const origin = entry.baseUrl === undefined ? undefined : new URL(entry.baseUrl).origin;
  const others = new Map<string, Upstream>(); // origin → its pool; as many as `pollHosts` lets there be
  const ring = new KeyRing(keys.length);
  const probe: Probe = async (path) => {
    const firstByteMs = Math.min(PROBE_MS, entry.timeouts.firstByteMs);
    const answer = await upstream!.send(path, whole[ring.take()]!, Buffer.from('{}'), new Cancellation(), {
      firstByteMs,
    });
    answer.release();
    return answer.status;
  };
  const known = before?.baseUrl === entry.baseUrl ? before?.finder?.found : undefined;
  const finder = otherWires.length === 0 ? undefined : new WireFinder([wire, ...otherWires], probe, known);

  return {
    id: entry.id,
    name: entry.name,
    get wire() {
      return finder ? finder.wire : wire;
    },
    ...(finder && { finder }),
    baseUrl: entry.baseUrl,
    dialect: entry.dialect,
    upstream,
    imageFirstByteMs: entry.imageFirstByteMs ?? entry.timeouts.firstByteMs,
    upstreamOf(url) {
      const isOwn = url.origin === origin;
      const isNamed =
        url.protocol === 'https:' &&
        url.port === '' &&
        wire.image?.pollHosts?.some((host) => url.hostname.endsWith(host));
      if (!isOwn && !isNamed) return undefined;
      let found = others.get(url.origin);
      if (!found) {
        if (others.size >= MAX_ORIGINS) return undefined;
        found = upstreamAt(url.origin);
        others.set(url.origin, found);
      }
      return found;
    },
    keys: ring,
    retry: entry.retry,
    headersFor: (key, stream) => (stream ? streamed : whole)[key]!,
    maskKeys: (text) =>
      secrets.reduce((masked, secret) => maskCut(masked.replaceAll(secret, '[masked]'), secret), text),
    async close(now) {
      await Promise.all([upstream, ...others.values()].map((each) => each?.close(now)));
    },
  };
}

/** As much of a secret as gives nothing away, and as is no accident. */
const MIN_OF_SECRET = 6;

/** A long message has been cut by now, perhaps in the middle of a key. */
function maskCut(text: string, secret: string): string {
  const end = text.lastIndexOf('…');
  if (end === -1) return text;
  for (let length = secret.length - 1; length >= MIN_OF_SECRET; length--) {
    const start = end - length;
    if (start >= 0 && text.startsWith(secret.slice(0, length), start)) {
      return `${text.slice(0, start)}[masked]${text.slice(end)}`;
    }
  }
  return text;
}

/**
 * Keys may stand under any name in the settings of a package and in headers: all long texts are taken for one. A short one
 * is a name or a version, and may well be a word of a message.
 */
function findTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= 16 ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(findTexts) : [];
}
