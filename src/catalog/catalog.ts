import type { Model } from '../domain/endpoint.ts';
import type { Endpoint } from '../providers/provider.ts';
import { describeModel } from './describe-model.ts';
import type { CatalogRecords } from './records.ts';

/** Models and endpoints by slug, in memory. Slugs are compared in lower case. A canonical slug finds its model. */
export interface Catalog {
  /**
   * @param slug without routing suffixes
   * @returns its endpoints in the order of the configuration, exact ones before wildcards; empty if no endpoint carries
   * it
   */
  find(slug: string): readonly Endpoint[];
  /** Finds a model that an endpoint carries. */
  findModel(slug: string): Model | undefined;
  /** Finds a model that no endpoint carries, and the providers that offer it. */
  findKnown(slug: string): { model: Model; providers: readonly string[] } | undefined;
  /** Models that an endpoint carries, including hidden ones. */
  readonly models: readonly Model[];
  /** The models that routers choose from: visible ones. Those of a simulator only if there is no other provider. */
  readonly choices: readonly Model[];
  /** Whether any endpoint belongs to a single workspace. */
  readonly hasOwnKeys: boolean;
  /** Wildcards included. */
  readonly endpoints: readonly Endpoint[];
}

/** Slugs that matched a wildcard are remembered, so that the next request finds them as fast. Bounded. */
const MAX_REMEMBERED = 10_000;
const MAX_REMEMBERED_LENGTH = 200;

/** The provider, as the catalog names it. */
const tagOf = ({ tag }: Endpoint): string => tag.split('/')[0]!;

/** Characters that a name from a caller must not contain: a provider might ignore them and find another name. */
const unseen = /^\s|\s$|\p{C}/u;

const noRecords: CatalogRecords = { models: new Map(), endpoints: new Map() };

/**
 * Indexes endpoints. An endpoint whose `model` contains a `*` matches every slug of that shape, with three exceptions:
 * the same provider carries the exact slug, the catalog knows the model and that this provider does not have it, or the
 * name is another spelling of a known one. A `*` in its `upstreamModel` is replaced by the text that the star matched.
 */
export function createCatalog(
  endpoints: readonly Endpoint[],
  models: ReadonlyMap<string, Model> = new Map(),
  records: CatalogRecords = noRecords,
): Catalog {
  const exact = new Map<string, Endpoint[]>();
  const wildcards: { before: string; after: string; endpoint: Endpoint }[] = [];
  for (const endpoint of endpoints) {
    const slug = endpoint.model.toLowerCase();
    const star = slug.indexOf('*');
    if (star !== -1) wildcards.push({ before: slug.slice(0, star), after: slug.slice(star + 1), endpoint });
    else {
      const known = exact.get(slug);
      if (known) known.push(endpoint);
      else exact.set(slug, [endpoint]);
    }
  }
  const ids = new Map<string, string>(); // canonical slug → id
  for (const model of models.values()) ids.set(model.canonicalSlug.toLowerCase(), model.id);
  const listed = new Set([...records.endpoints.values()].map(({ provider }) => provider));
  const remembered = new Map<string, readonly Endpoint[]>();

  function search(slug: string): readonly Endpoint[] {
    const lower = slug.toLowerCase();
    const found = [...(exact.get(lower) ?? exact.get(ids.get(lower) ?? '') ?? [])];
    const providers = new Set<object>(found.map(({ provider }) => provider));
    const isListed = found.length > 0 && records.models.has(lower);
    for (const { before, after, endpoint } of wildcards) {
      if (providers.has(endpoint.provider)) continue;
      if (isListed && listed.has(tagOf(endpoint))) continue;
      if (lower.length <= before.length + after.length || !lower.startsWith(before) || !lower.endsWith(after)) continue;
      const matched = slug.slice(before.length, slug.length - after.length);
      const id = endpoint.id.replace(endpoint.model, () => slug);
      const upstreamModel = endpoint.upstreamModel.replace('*', () => matched);
      if (unseen.test(matched) || endpoint.provider.wire.isOtherSpelling?.(upstreamModel)) continue;
      const image = endpoint.imageOf ? endpoint.imageOf(upstreamModel) : endpoint.image;
      found.push({ ...endpoint, id, model: slug, pattern: endpoint.model, upstreamModel, image });
    }
    return found;
  }

  const visible = [...models.values()].filter(({ hidden }) => !hidden);
  const real = visible.filter(({ simulated }) => !simulated);
  const simulators = new Set(
    endpoints.filter(({ model }) => models.get(model.toLowerCase())?.simulated).map(({ provider }) => provider),
  );
  const hasReal = endpoints.some(({ provider }) => !simulators.has(provider));

  return {
    endpoints,
    hasOwnKeys: endpoints.some(({ workspace }) => workspace !== undefined),
    models: [...models.values()],
    choices: hasReal ? real : visible,
    find(slug) {
      const known = remembered.get(slug);
      if (known) return known;
      const found = search(slug);
      const isShort = slug.length <= MAX_REMEMBERED_LENGTH; // callers can invent slugs for wildcards
      if (found.length > 0 && isShort && remembered.size < MAX_REMEMBERED) remembered.set(slug, found);
      return found;
    },
    findModel(slug) {
      const lower = slug.toLowerCase();
      return models.get(lower) ?? models.get(ids.get(lower) ?? '');
    },
    findKnown(slug) {
      const record = records.models.get(slug.toLowerCase());
      if (!record) return undefined;
      const rows = [...records.endpoints.values()].filter(({ model }) => model === record.id);
      return { model: describeModel(record), providers: [...new Set(rows.map(({ provider }) => provider))] };
    },
  };
}
