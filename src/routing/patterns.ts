import type { Model } from '../domain/endpoint.ts';

/**
 * Patterns of slugs: `*` is any run of characters, `/` included; both ends are anchored. Case does not matter. A pattern
 * without a suffix means the model and its variants, one with a suffix that variant alone.
 *
 * @see docs/reference/routers.md#auto
 */
export class Patterns {
  /** Of models whatever their variant, and of one variant each. */
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

/** Patterns in lower case, made ready for many texts. */
class Matcher {
  private readonly exact = new Set<string>();
  /** Sorted; none begins with another, so that a text can begin with one of them only. */
  private readonly prefixes: readonly string[];
  /** Of the shape `*end`: what they end with, by its length. */
  private readonly ends = new Map<number, Set<string>>();
  /** The texts between the stars. */
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

  /** The greatest prefix that is not after the slug is the only one that it can begin with. */
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

/** @param sorted what begins with another stands behind it, with nothing else between */
function withoutLonger(sorted: readonly string[]): string[] {
  const kept: string[] = [];
  for (const prefix of sorted) {
    const last = kept.at(-1);
    if (last === undefined || !prefix.startsWith(last)) kept.push(prefix);
  }
  return kept;
}

/** The first text at the beginning, the last at the end, those between in order, as early as they come. */
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

/** The most lists of patterns whose models are remembered. */
const MAX_LISTS = 64;
const byModels = new WeakMap<readonly Model[], Map<string, ReadonlySet<string>>>();

/**
 * The ids of the models that any of the patterns matches. Callers send the same list time and again, so its result is
 * kept as long as the catalogue is the same.
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
