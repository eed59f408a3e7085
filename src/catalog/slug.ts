/** The parts of a slug. @see docs/reference/routing.md#suffixes */
export interface Slug {
  /** The model with its catalog variant, unchanged: `acme/one:free`. */
  model: string;
  /** `free`, `batch`, `thinking`, `extended`: variants with their own entry in the catalog. */
  variant: string | undefined;
  /** The last sorting suffix. */
  sort: 'throughput' | 'price' | 'exacto' | undefined;
  /** Tiers that `:nitro` and `:floor` permit. */
  tiers: readonly ('priority' | 'flex')[];
}

const catalogVariants = new Set(['free', 'batch', 'thinking', 'extended']);
const routingVariants = {
  nitro: { sort: 'throughput', tier: 'priority' },
  floor: { sort: 'price', tier: 'flex' },
  exacto: { sort: 'exacto', tier: undefined },
} as const;

const isRoutingVariant = (suffix: string): suffix is keyof typeof routingVariants =>
  Object.hasOwn(routingVariants, suffix);

/** Removes the routing suffixes from a slug. An unknown suffix is part of the name: `llama3.2:3b`. */
export function parseSlug(slug: string): Slug {
  if (!slug.includes(':')) return { model: slug, variant: undefined, sort: undefined, tiers: [] };
  const [name, ...suffixes] = slug.split(':') as [string, ...string[]];
  const kept: string[] = [];
  const parsed: Slug = { model: slug, variant: undefined, sort: undefined, tiers: [] };
  for (const suffix of suffixes) {
    const lower = suffix.toLowerCase();
    if (isRoutingVariant(lower)) {
      const { sort, tier } = routingVariants[lower];
      parsed.sort = sort;
      if (tier) parsed.tiers = [...parsed.tiers, tier];
      continue;
    }
    if (lower === 'online') continue; // turns a plugin on, `requests/responses/online.ts`
    if (catalogVariants.has(lower)) parsed.variant = lower;
    kept.push(suffix);
  }
  parsed.model = [name, ...kept].join(':');
  return parsed;
}

/** The model without its catalog variant. */
export const withoutVariant = ({ model, variant }: Slug): string =>
  variant === undefined
    ? model
    : model
        .split(':')
        .filter((part) => part.toLowerCase() !== variant)
        .join(':');
