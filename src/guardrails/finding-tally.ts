import type { CombinedFilter } from './combine-filters.ts';
import type { FilterHit } from './report-findings.ts';
import type { ScanResult } from './scan-text.ts';

interface Hit extends CombinedFilter {
  readonly ids: Set<string>;
  readonly engine: string | undefined;
}

/** Adds up what filters found in several texts. */
export class FindingTally {
  private readonly hits = new Map<string, Hit>();

  /**
   * @param filters of the scan, by the indexes of the findings
   * @param engine the analyzer; undefined: patterns
   */
  add(
    filters: readonly CombinedFilter[],
    { findings, counts }: Pick<ScanResult, 'findings' | 'counts'>,
    engine?: string,
  ): void {
    for (const [index, count] of counts.entries()) if (count > 0) this.hitOf(filters[index]!, engine);
    for (const { filter, id } of findings) {
      const { ids } = this.hitOf(filters[filter]!, engine);
      if (id !== '') ids.add(id);
    }
  }

  /** Whether a filter with the action `block` found something. */
  get isBlocked(): boolean {
    return [...this.hits.values()].some(({ filter }) => filter.action === 'block');
  }

  /** Returns the filters that found something, the first one first. */
  list(): FilterHit[] {
    return [...this.hits.values()].map(({ ids, ...found }) => ({ ...found, ids: [...ids] }));
  }

  /** The same filter may have another object for each kind of text. */
  private hitOf({ filter, source }: CombinedFilter, engine: string | undefined): Hit {
    const what = filter.type === 'builtin' ? filter.slug : `custom ${filter.pattern}`;
    const key = JSON.stringify([source.scope, source.id, filter.action, what]);
    let hit = this.hits.get(key);
    if (!hit) {
      hit = { filter, source, engine, ids: new Set() };
      this.hits.set(key, hit);
    }
    return hit;
  }
}
