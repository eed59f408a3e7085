import { createHash } from 'node:crypto';
import type { FilterSource } from '../domain/content-filter.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { type CombinedFilter, combineFilters, type TextKind, textKinds } from './combine-filters.ts';
import { type CompiledFilters, compileInSlices } from './compile-filters.ts';
import { isRecognized } from './scan-entities.ts';

/** The filters that apply to a kind of text, ready to scan. */
export interface FilterSet {
  /** Has the indexes of the compiled filters. */
  readonly combined: readonly CombinedFilter[];
  readonly compiled: CompiledFilters;
  /** Whether an analyzer serves some of them. */
  readonly hasEntities: boolean;
}

/** Combined filters, and what is equal for equal ones. */
interface KnownFilters {
  readonly combined: readonly CombinedFilter[];
  readonly key: string;
  readonly hasEntities: boolean;
}

/**
 * The filters of all callers, combined and compiled. Equal filters are compiled once, whatever guardrails have them. The
 * least recently used ones leave first.
 */
export class FilterSets {
  /** The guardrails of all callers. */
  private sources: readonly (readonly FilterSource[])[] = [];
  private readonly known = new WeakMap<readonly FilterSource[], Partial<Record<TextKind, KnownFilters>>>();
  private readonly compiled = new Map<string, CompiledFilters>();
  private readonly pending = new Map<string, Promise<CompiledFilters>>();
  private readonly allowedPhrases: readonly string[];
  private readonly maxSets: number;

  /**
   * @param allowedPhrases hide from the patterns of prompt injection
   * @param maxSets each takes a few megabytes once texts have been scanned
   */
  constructor(allowedPhrases: readonly string[], maxSets = 64) {
    this.allowedPhrases = allowedPhrases;
    this.maxSets = maxSets;
  }

  /** Creates those of the same callers with other phrases. */
  async withPhrases(allowedPhrases: readonly string[]): Promise<FilterSets> {
    const next = new FilterSets(allowedPhrases, this.maxSets);
    await next.prepare(this.sources);
    return next;
  }

  /**
   * Compiles the filters of all callers before the first request needs them, as far as there is room for them. If filters
   * cannot be compiled, only the requests that need them fail.
   */
  async prepare(sources: readonly (readonly FilterSource[])[]): Promise<void> {
    this.sources = sources;
    const wanted = new Set<string>();
    for (const each of sources) {
      for (const kind of textKinds) {
        const known = this.describe(each, kind);
        if (known.combined.length === 0 || wanted.has(known.key)) continue;
        if (wanted.size === this.maxSets) return;
        wanted.add(known.key);
        if (!this.compiled.has(known.key)) await this.compile(known).catch(() => {});
      }
    }
  }

  /**
   * Returns the filters of a caller's guardrails for a kind of text. Undefined: there are none.
   *
   * @param sources the array of the caller
   * @returns a promise only if they must be compiled first
   */
  find(sources: readonly FilterSource[], kind: TextKind): MaybePromise<FilterSet | undefined> {
    const known = this.describe(sources, kind);
    const { combined, key, hasEntities } = known;
    if (combined.length === 0) return undefined;
    const compiled = this.compiled.get(key);
    if (!compiled) return this.compile(known).then((made) => ({ combined, compiled: made, hasEntities }));
    if (this.compiled.size === this.maxSets) this.keep(key, compiled);
    return { combined, compiled, hasEntities };
  }

  private describe(sources: readonly FilterSource[], kind: TextKind): KnownFilters {
    let known = this.known.get(sources);
    if (!known) {
      known = {};
      this.known.set(sources, known);
    }
    known[kind] ??= this.combine(sources, kind);
    return known[kind];
  }

  private combine(sources: readonly FilterSource[], kind: TextKind): KnownFilters {
    const combined = combineFilters(sources, kind);
    const filters = JSON.stringify(combined.map(({ filter }) => filter));
    return {
      combined,
      key: createHash('sha256').update(filters).digest('base64'),
      hasEntities: combined.some(isRecognized),
    };
  }

  /** All that need the same filters meanwhile wait for the same result. */
  private compile({ combined, key }: KnownFilters): Promise<CompiledFilters> {
    let pending = this.pending.get(key);
    if (!pending) {
      pending = compileInSlices(
        combined.map(({ filter }) => filter),
        this.allowedPhrases,
      )
        .then((compiled) => {
          this.keep(key, compiled);
          return compiled;
        })
        .finally(() => this.pending.delete(key));
      this.pending.set(key, pending);
    }
    return pending;
  }

  /** Keeps them as those used last. */
  private keep(key: string, compiled: CompiledFilters): void {
    this.compiled.delete(key);
    this.compiled.set(key, compiled);
    if (this.compiled.size > this.maxSets) this.compiled.delete(this.compiled.keys().next().value!);
  }
}
