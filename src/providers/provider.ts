import { Cancellation } from '../domain/cancellation.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import type { Issue, RefusalLesson } from '../domain/errors.ts';
import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { ImageFacts } from '../domain/images.ts';
import { DialectError } from './kit/read-dialect.ts';
import { KeyRing } from './key-ring.ts';
import type { Learned } from './rules/lessons.ts';
import { mergeSettings } from './rules/merge-settings.ts';
import { EndpointSettings } from './rules/resolve.ts';
import type { Settings } from './rules/rule-sets.ts';
import { findUnread } from './rules/unread.ts';
import type { Wire } from './wire.ts';
import { createUpstream, type Upstream, type UpstreamTimeouts } from './transport.ts';
import { type Probe, WireFinder } from './wire-finder.ts';

/** A configured provider: data, and the pool to its origin. */
export interface Provider {
  readonly id: string;
  /** Display name, for metadata and messages. */
  readonly name: string;
  /** Its protocol. If its server may use one of several: the detected one, or the more likely one. */
  readonly wire: Wire;
  /** Detects which of several protocols its server uses. Absent: it has one protocol. */
  readonly finder?: WireFinder;
  readonly baseUrl?: string | undefined;
  /** False: its list of models does not say which models a wildcard stands for. */
  readonly listsModels?: boolean;
  readonly dialect: Readonly<Record<string, unknown>>;
  /** Returns the settings for one of its models: the rules for that model, overridden by `dialect`. */
  settingsOf(wire: Wire, model: string): Readonly<Record<string, unknown>>;
  /** Lists the ids of the rules for one of its models. */
  rulesFor(wire: Wire, model: string): readonly string[];
  /** Remembers what the server has refused. @returns undefined if it was known */
  learn(wire: Wire, model: string, lesson: RefusalLesson): Learned | undefined;
  /** The network. Undefined for a wire that responds inside this process. */
  readonly upstream: Upstream | undefined;
  /** Maximum time to the first byte of an image, in milliseconds. */
  readonly imageFirstByteMs: number;
  /**
   * Returns the network of a URL that the provider sent, if it is on its own host or on one that its wire lists.
   *
   * @returns undefined for any other host, because the key must not be sent there
   */
  upstreamOf(url: URL): Upstream | undefined;
  readonly keys: KeyRing;
  /** The names of its keys, in the order of the ring. Empty if it has none. */
  readonly keyNames: readonly string[];
  /** Undefined: failed requests are not retried. */
  readonly retry?: RetryPolicy | undefined;
  /** Returns the headers of a request with this key of the ring, as a flat list. */
  headersFor(key: number, stream: boolean): string[];
  /** Masks the operator's keys in a text of the provider. */
  maskKeys(text: string): string;
  /** Waits for the requests in flight. `now` cancels them instead. */
  close(now: boolean): Promise<void>;
}

/** A model at a provider. */
export interface Endpoint extends EndpointFacts {
  readonly provider: Provider;
  readonly upstreamModel: string;
  /** The slug of the configuration, if its `*` matched `model`. */
  readonly pattern?: string;
  /** The model whose rules hold, for a deployment with a name of its own. Absent: `upstreamModel`. */
  readonly rulesOf?: string;
  /** Settings for this model, which override those of the provider. */
  readonly dialect?: Readonly<Record<string, unknown>>;
  /** Whether the provider accepts no URLs of images and files. The gateway then fetches them and sends the data. */
  readonly needsData?: boolean;
  /** Returns the image capabilities of a model that matches a `*`. */
  readonly imageOf?: (upstreamModel: string) => ImageFacts | undefined;
}

/** Creates an endpoint without any known facts. */
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
  embedding: undefined,
  rerank: undefined,
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
  /** The known provider that it is an account of. Absent: `id`. */
  sameAs?: string;
  name: string;
  wire: Wire;
  /** Other protocols that its server may use instead. */
  otherWires?: readonly Wire[];
  baseUrl?: string;
  /** Absent: true. */
  listsModels?: boolean;
  apiKeys: readonly string[];
  /** Names of the keys, in their order. Absent: their numbers. */
  keyNames?: readonly string[];
  /** The URL of an HTTP proxy to the provider. */
  proxy?: string;
  headers: Readonly<Record<string, string>>;
  timeouts: UpstreamTimeouts;
  /** Absent: no request is retried. */
  retry?: RetryPolicy;
  /** Maximum time to the first byte of an image, in milliseconds. Absent: the limit of other requests. */
  imageFirstByteMs?: number;
  dialect: Readonly<Record<string, unknown>>;
  /**
   * For the wire `ai-sdk`: its npm package, the function that creates the provider, and the settings of that function.
   */
  package?: string;
  factory?: string;
  settings?: Readonly<Record<string, unknown>>;
}

/** Maximum number of hosts from which the images of one provider are fetched. */
const MAX_ORIGINS = 20;

/** Maximum duration of a protocol probe. */
const PROBE_MS = 5_000;

/** @throws {DialectError} if a wire of a provider does not have a setting, or none of them reads it; for the operator */
export function checkDialect(wires: readonly Wire[], dialect: Settings): void {
  const issues = findDialectIssues(wires, dialect);
  if (issues.length > 0) throw new DialectError(issues);
}

/**
 * Finds the settings that a wire of a provider does not have, or that none of them reads: one issue for each path.
 *
 * @param mayShow whether messages may have values
 */
export function findDialectIssues(wires: readonly Wire[], dialect: Settings, mayShow = true): Issue[] {
  const ids = wires.map(({ id }) => id);
  const all = [...wires.flatMap((wire) => readIssues(wire, dialect, mayShow)), ...findUnread(ids, dialect)];
  return all.filter(({ path }, index) => all.findIndex((other) => other.path === path) === index);
}

function readIssues(wire: Wire, dialect: Settings, mayShow: boolean): readonly Issue[] {
  try {
    wire.checkDialect?.(dialect, mayShow);
    return [];
  } catch (error) {
    if (error instanceof DialectError) return error.issues;
    throw error;
  }
}

/**
 * Creates a provider from its entry in the configuration.
 *
 * @param before the same provider before a reload; its detected protocol is kept
 * @throws {Error} if the wire does not have a dialect setting, or a package is missing; for the operator
 */
export function createProvider(entry: ProviderEntry, before?: Provider): Provider {
  const { otherWires = [] } = entry;
  const wire = entry.wire.forProvider?.(entry) ?? entry.wire;
  checkDialect([wire, ...otherWires], entry.dialect);
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
  // The longest first, because one secret may contain another, such as a header that contains the token after `Bearer`.
  const secrets = [
    ...entry.apiKeys,
    ...findTexts(entry.settings),
    ...Object.values(own).flatMap((value) => findTexts([value, ...value.split(' ')])),
  ].sort((a, b) => b.length - a.length);
  const upstreamAt = (baseUrl: string) =>
    createUpstream({ name: entry.name, baseUrl, timeouts: entry.timeouts, proxy: entry.proxy });
  const isInside = [wire.text, wire.image, wire.embedding, wire.rerank].some((facet) => facet?.send !== undefined);
  const upstream = isInside || entry.baseUrl === undefined ? undefined : upstreamAt(entry.baseUrl);
  const origin = entry.baseUrl === undefined ? undefined : new URL(entry.baseUrl).origin;
  const others = new Map<string, Upstream>(); // origin → its pool; at most MAX_ORIGINS
  const ring = new KeyRing(keys.length);
  const probe: Probe = async (path) => {
    const firstByteMs = Math.min(PROBE_MS, entry.timeouts.firstByteMs);
    const response = await upstream!.send(path, whole[ring.take()]!, Buffer.from('{}'), new Cancellation(), {
      firstByteMs,
    });
    response.release();
    return response.status;
  };
  const known = before?.baseUrl === entry.baseUrl ? before?.finder?.found : undefined;
  const finder = otherWires.length === 0 ? undefined : new WireFinder([wire, ...otherWires], probe, known);

  const host = entry.baseUrl === undefined ? undefined : new URL(entry.baseUrl).hostname;
  const settings = new EndpointSettings({ provider: entry.sameAs ?? entry.id, host }, entry.dialect);

  return {
    id: entry.id,
    name: entry.name,
    get wire() {
      return finder ? finder.wire : wire;
    },
    ...(finder && { finder }),
    baseUrl: entry.baseUrl,
    ...(entry.listsModels === undefined ? undefined : { listsModels: entry.listsModels }),
    dialect: entry.dialect,
    settingsOf: (used, model) => settings.of(used.id, model),
    rulesFor: (used, model) => settings.rulesFor(used.id, model),
    learn: (used, model, lesson) => settings.learn(used.id, model, lesson),
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
    keyNames: entry.apiKeys.map((_, index) => entry.keyNames?.[index] ?? `key ${index + 1}`),
    retry: entry.retry,
    headersFor: (key, stream) => (stream ? streamed : whole)[key]!,
    maskKeys: (text) =>
      secrets.reduce((masked, secret) => maskCut(masked.replaceAll(secret, '[masked]'), secret), text),
    async close(now) {
      await Promise.all([upstream, ...others.values()].map((each) => each?.close(now)));
    },
  };
}

/** Minimum length of the start of a secret that is masked. A shorter one reveals nothing and may be a coincidence. */
const MIN_OF_SECRET = 6;

/** Masks the start of a secret before an ellipsis, because a message may be truncated in the middle of a key. */
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
 * Finds texts that may be secrets. Keys can have any name in the settings of a package and in headers, so every long
 * text counts as one. A short text is a name or a version, and may be a normal word in a message.
 */
function findTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= 16 ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(findTexts) : [];
}

/** The dialect of a model → the settings of its provider → both merged. A wire checks the same object only once. */
const merged = new WeakMap<object, WeakMap<object, Settings>>();

/** Returns the settings of an endpoint: the rules of its model, the `dialect` of its provider, and that of the model. */
export function settingsOf(
  {
    provider,
    upstreamModel,
    rulesOf = upstreamModel,
    dialect,
  }: Pick<Endpoint, 'provider' | 'upstreamModel' | 'rulesOf' | 'dialect'>,
  wire: Wire,
): Readonly<Record<string, unknown>> {
  const settings = provider.settingsOf(wire, rulesOf);
  if (dialect === undefined) return settings;
  const known = merged.get(dialect) ?? new WeakMap<object, Settings>();
  const all = known.get(settings) ?? mergeSettings(settings, dialect);
  merged.set(dialect, known.set(settings, all));
  return all;
}
