import type { Problem } from './interpolate.ts';
import list from './known-providers.json' with { type: 'json' };
import { isMapping } from './path.ts';
import type { ProviderConfig, wireNames } from './schema.ts';

/** A provider of which an entry of the configuration need not say more than its id. */
export interface KnownProvider {
  id: string;
  name: string;
  /** The variables in which its users keep their key; the first that is set counts. Empty: it asks for none. */
  env: readonly string[];
  /** False: the key stands in many environments for other reasons, so that it alone must not switch the provider on. */
  discover: boolean;
  /** Up to the version. Absent: every account has its own. */
  baseUrl?: string;
  /** A variable that names another address, as the provider's own tools read it. */
  baseUrlEnv?: string;
  wire: (typeof wireNames)[number];
  dialect: Readonly<Record<string, unknown>>;
  /** What stands before the slash of its slugs, besides the id. */
  slugs: readonly string[];
  /** `fetch`: it takes no addresses of pictures. */
  urls?: 'fetch';
  /** Where the facts are from. */
  source: string;
}

interface Row {
  id: string;
  name: string;
  env?: string[];
  discover?: boolean;
  baseUrl?: string;
  baseUrlEnv?: string;
  wire?: KnownProvider['wire'];
  dialect?: Record<string, unknown>;
  slugs?: string[];
  urls?: 'fetch';
  source: string;
}

/** The list, in the order in which discovered providers are asked. To add one, add a row to the file. */
export const knownProviders: readonly KnownProvider[] = (list.providers as Row[]).map((row) => ({
  env: [],
  discover: true,
  wire: 'openai-chat',
  dialect: {},
  slugs: [],
  ...row,
}));

const byId = new Map(knownProviders.map((provider) => [provider.id, provider]));

type Environment = Readonly<Record<string, string | undefined>>;

/** The variable that holds the key of a provider; undefined when none is set. */
export const keyVariable = ({ env }: KnownProvider, environment: Environment): string | undefined =>
  env.find((name) => environment[name]);

/** What an entry leaves unsaid when it names no wire: all that the list knows of its id. */
function describe(known: KnownProvider, environment: Environment): Partial<ProviderConfig> {
  const variable = keyVariable(known, environment);
  const baseUrl = (known.baseUrlEnv && environment[known.baseUrlEnv]) || known.baseUrl;
  return {
    name: known.name,
    wire: known.wire,
    ...(known.urls === undefined ? undefined : { urls: known.urls }),
    ...(baseUrl === undefined ? undefined : { base_url: baseUrl }),
    ...(variable === undefined ? undefined : { api_key: environment[variable]! }),
    models: [known.id, ...known.slugs].map((prefix) => ({ model: `${prefix}/*` })),
  };
}

/**
 * The wire of a provider at the address that it has here. A server at another address than the provider's own may speak
 * chat completions alone, so the gateway finds out, unless a dialect says what it speaks.
 */
function wireAt(known: KnownProvider, { base_url: url, dialect = {} }: Record<string, unknown>): KnownProvider['wire'] {
  const isMoved = known.baseUrl !== undefined && withoutSlash(url) !== withoutSlash(known.baseUrl);
  const isPlain = isMapping(dialect) && Object.keys(dialect).length === 0;
  return known.wire === 'openai-responses' && isMoved && isPlain ? 'openai' : known.wire;
}

const withoutSlash = (url: unknown): string => String(url).replace(/\/+$/, '');

/**
 * Completes the entries of the file that name a known provider and no wire. What is written wins, setting by setting
 * in `dialect`.
 *
 * @param tree is changed
 * @returns what is missing and cannot be known
 */
export function completeProviders(tree: Record<string, unknown>, environment: Environment): Problem[] {
  if (!Array.isArray(tree.providers)) return [];
  const problems: Problem[] = [];
  tree.providers = tree.providers.map((entry: unknown, index) => {
    const known = isMapping(entry) && entry.wire === undefined ? byId.get(nameInList(entry)) : undefined;
    if (!known || !isMapping(entry)) return entry;
    const dialect =
      isMapping(entry.dialect) || entry.dialect === undefined ? { ...known.dialect, ...entry.dialect } : entry.dialect;
    const whole: Record<string, unknown> = { ...describe(known, environment), ...entry, dialect };
    whole.wire = wireAt(known, whole);
    if (known.env.length > 0 && whole.api_key === undefined && whole.headers === undefined) {
      const message = `is missing: set ${known.env.join(' or ')}, or write it`;
      problems.push({ path: ['providers', index, 'api_key'], message });
    }
    return whole;
  });
  return problems;
}

const nameInList = ({ same_as: sameAs, id }: Record<string, unknown>): string => String(sameAs ?? id);

/** The provider of the list that an entry is an account of; undefined when it is none of them. */
export const findKnownProvider = ({ same_as: sameAs, id }: ProviderConfig): KnownProvider | undefined =>
  byId.get(sameAs ?? id);

export interface DiscoveredProvider {
  /** The variable that holds its key. */
  variable: string;
  provider: ProviderConfig;
}

/** Entries for the known providers whose key stands in the environment, but for those that are configured already. */
export function discoverProviders(
  configured: readonly ProviderConfig[],
  environment: Environment,
): DiscoveredProvider[] {
  const taken = new Set(configured.map(({ id }) => id));
  return knownProviders.flatMap((known) => {
    const variable = known.discover && !taken.has(known.id) ? keyVariable(known, environment) : undefined;
    if (variable === undefined) return [];
    const entry = { id: known.id, dialect: known.dialect, ...describe(known, environment) };
    if (entry.base_url === undefined) return [];
    const provider = { ...entry, wire: wireAt(known, entry) } as ProviderConfig; // complete: it has an address
    return [{ variable, provider }];
  });
}
