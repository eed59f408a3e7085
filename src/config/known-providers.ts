import type { Problem } from './interpolate.ts';
import list from './known-providers.json' with { type: 'json' };
import { isMapping } from './path.ts';
import type { ProviderConfig } from './schema.ts';
import type { wireNames } from './schema/providers.ts';

/** A provider that the configuration can name by its id alone. */
export interface KnownProvider {
  id: string;
  name: string;
  /** The variables that hold its key. The first that is set applies. Empty: it needs no key. */
  env: readonly string[];
  /** False if many environments set the key for other reasons, so the key alone must not enable the provider. */
  discover: boolean;
  /** Includes the version. Absent: every account has its own. */
  baseUrl?: string;
  /** The variable with another URL, which the provider's own tools read. */
  baseUrlEnv?: string;
  wire: (typeof wireNames)[number];
  /** Settings of a wire without rules. Those of the other wires are rules of `src/providers/rules/data/`. */
  dialect: Readonly<Record<string, unknown>>;
  /** Whether servers of others at another URL may have only chat completions. */
  imitated: boolean;
  /** Further prefixes of its slugs, besides the id. */
  slugs: readonly string[];
  /** `fetch`: it accepts no URLs of images. */
  urls?: 'fetch';
  /** Whether names of its models have no slash, so that a model without `upstream_model` has the name after the last one. */
  plainNames: boolean;
  /** The source of these facts. */
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
  imitated?: boolean;
  slugs?: string[];
  urls?: 'fetch';
  plainNames?: boolean;
  source: string;
}

/** The known providers, in the order in which detected ones are configured. To add one, add a row to the file. */
export const knownProviders: readonly KnownProvider[] = (list.providers as Row[]).map((row) => ({
  env: [],
  discover: true,
  wire: 'openai-chat',
  dialect: {},
  imitated: false,
  plainNames: false,
  slugs: [],
  ...row,
}));

const byId = new Map(knownProviders.map((provider) => [provider.id, provider]));

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the variable that holds the key of a provider. Undefined if none is set. */
export const keyVariable = ({ env }: KnownProvider, environment: Environment): string | undefined =>
  env.find((name) => environment[name]);

/** Returns the settings of the list, for an entry without a wire. */
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
 * Returns the wire of a provider at its configured URL. A server at another URL may support only chat completions, so
 * the gateway probes it, unless a dialect is set.
 */
function wireAt(known: KnownProvider, { base_url: url, dialect = {} }: Record<string, unknown>): KnownProvider['wire'] {
  const isMoved = known.baseUrl !== undefined && withoutSlash(url) !== withoutSlash(known.baseUrl);
  const isPlain = isMapping(dialect) && Object.keys(dialect).length === 0;
  return known.imitated && isMoved && isPlain ? 'openai' : known.wire;
}

const withoutSlash = (url: unknown): string => String(url).replace(/\/+$/, '');

/**
 * Completes the entries that name a known provider and no wire. Settings of the entry win, each one in `dialect`.
 *
 * @param tree is changed
 * @returns required settings that are still missing
 */
export function completeProviders(tree: Record<string, unknown>, environment: Environment): Problem[] {
  if (!Array.isArray(tree.providers)) return [];
  const problems: Problem[] = [];
  tree.providers = tree.providers.map((entry: unknown, index) => {
    const known = isMapping(entry) && entry.wire === undefined ? byId.get(nameInList(entry)) : undefined;
    if (!known || !isMapping(entry)) return entry;
    const dialect =
      isMapping(entry.dialect) || entry.dialect === undefined ? { ...known.dialect, ...entry.dialect } : entry.dialect;
    const complete: Record<string, unknown> = { ...describe(known, environment), ...entry, dialect };
    complete.wire = wireAt(known, complete);
    if (known.env.length > 0 && complete.api_key === undefined && complete.headers === undefined) {
      const message = `is missing: set ${known.env.join(' or ')}, or add it here`;
      problems.push({ path: ['providers', index, 'api_key'], message });
    }
    return complete;
  });
  return problems;
}

const nameInList = ({ same_as: sameAs, id }: Record<string, unknown>): string => String(sameAs ?? id);

/** Returns the known provider of an entry. Undefined if it is not in the list. */
export const findKnownProvider = ({ same_as: sameAs, id }: ProviderConfig): KnownProvider | undefined =>
  byId.get(sameAs ?? id);

export interface DiscoveredProvider {
  /** The variable that holds its key. */
  variable: string;
  provider: ProviderConfig;
}

/** Returns entries for the known providers whose key is in the environment and that are not configured. */
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
    const provider = { ...entry, wire: wireAt(known, entry) } as ProviderConfig; // complete: it has a URL
    return [{ variable, provider }];
  });
}
