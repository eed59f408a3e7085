import type { Model } from '../domain/endpoint.ts';

/**
 * Patterns of slugs. `*` matches any run of characters, including `/`. Both ends are anchored, and case does not
 * matter. A pattern without a suffix matches a model and its variants. One with a suffix matches only that variant.
 *
 * @see docs/reference/routers.md#auto
 */
export class Patterns {
  /** Patterns without a suffix, then patterns with one. */
  private readonly models: Matcher;
  private readonly variants: Matcher | undefined;

  constructor(patterns: readonly string[]) {
    const all = patterns.map((pattern) => pattern.toLowerCase());
    const named = all.filter((pattern) => pattern.includes(':'));
    this.models = new Matcher(all.filter((pattern) => !pattern.includes(':')));
    this.variants = named.length > 0 ? new Matcher(named) : undefined;
  }

  matches({ id, canonicalSlug }: Pick<Model, 'id' | 'canonicalSlug'>): boolean {
    const slug = id.toLowerCase();
    const colon = slug.indexOf(':');
    return (
      this.models.matches(colon === -1 ? slug : slug.slice(0, colon)) ||
      this.models.matches(canonicalSlug.toLowerCase()) ||
      (this.variants?.matches(slug) ?? false)
    );
  }
}

/** Compiled patterns in lower case. */
class Matcher {
  private readonly exact = new Set<string>();
  /** Sorted. None is a prefix of another, so a text can begin with only one of them. */
  private readonly prefixes: readonly string[];
  /** The ends of patterns of the form `*end`, by length. */
  private readonly ends = new Map<number, Set<string>>();
  /** The texts between the stars of all other patterns. */
  private readonly others: string[][] = [];

  constructor(patterns: readonly string[]) {
    const prefixes: string[] = [];
    for (const pattern of patterns) {
      const star = pattern.indexOf('*');
      if (star === -1) this.exact.add(pattern);
      else if (star === pattern.length - 1) prefixes.push(pattern.slice(0, -1));
      else if (star === 0 && pattern.lastIndexOf('*') === 0) this.addEnd(pattern.slice(1));
      else this.others.push(pattern.split('*'));
    }
    this.prefixes = withoutLonger(prefixes.sort());
  }

  matches(text: string): boolean {
    return (
      this.exact.has(text) ||
      this.hasPrefixOf(text) ||
      this.hasEndOf(text) ||
      this.others.some((texts) => hasShape(text, texts))
    );
  }

  private addEnd(end: string): void {
    const known = this.ends.get(end.length);
    if (known) known.add(end);
    else this.ends.set(end.length, new Set([end]));
  }

  private hasEndOf(slug: string): boolean {
    for (const [length, ends] of this.ends) {
      if (length <= slug.length && ends.has(slug.slice(slug.length - length))) return true;
    }
    return false;
  }

  /** Binary search: only the greatest prefix that is not after the slug can match. */
  private hasPrefixOf(slug: string): boolean {
    let low = 0;
    let high = this.prefixes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.prefixes[middle]! <= slug) low = middle + 1;
      else high = middle;
    }
    return low > 0 && slug.startsWith(this.prefixes[low - 1]!);
  }
}

/** Removes texts that begin with another one. @param sorted in ascending order */
function withoutLonger(sorted: readonly string[]): string[] {
  const kept: string[] = [];
  for (const prefix of sorted) {
    const last = kept.at(-1);
    if (last === undefined || !prefix.startsWith(last)) kept.push(prefix);
  }
  return kept;
}

/** Whether the slug has the first text at its start, the last at its end, and the others in order between them. */
function hasShape(slug: string, texts: readonly string[]): boolean {
  const first = texts[0]!;
  const last = texts.at(-1)!;
  if (slug.length < first.length + last.length || !slug.startsWith(first) || !slug.endsWith(last)) return false;
  let at = first.length;
  const end = slug.length - last.length;
  for (let index = 1; index < texts.length - 1; index++) {
    const found = slug.indexOf(texts[index]!, at);
    if (found === -1 || found + texts[index]!.length > end) return false;
    at = found + texts[index]!.length;
  }
  return at <= end;
}

/** Maximum cached lists of patterns. */
const MAX_LISTS = 64;
const byModels = new WeakMap<readonly Model[], Map<string, ReadonlySet<string>>>();

/**
 * Returns the ids of the models that match any of the patterns. Callers often send the same list, so the result is
 * cached as long as the catalog is the same.
 */
export function matchModels(patterns: readonly string[], models: readonly Model[]): ReadonlySet<string> {
  let known = byModels.get(models);
  if (!known) {
    known = new Map();
    byModels.set(models, known);
  }
  const key = JSON.stringify(patterns);
  const before = known.get(key);
  if (before) return before;
  const compiled = new Patterns(patterns);
  const found = new Set(models.filter((model) => compiled.matches(model)).map(({ id }) => id));
  if (known.size >= MAX_LISTS) known.clear();
  known.set(key, found);
  return found;
}
