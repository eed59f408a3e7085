import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ContentFilter, RecognizedSlug } from '../domain/content-filter.ts';
import { ServiceError } from '../domain/service.ts';
import { builtinTexts, recognizedTypes } from './builtin-filters.ts';
import type { CombinedFilter } from './combine-filters.ts';
import type { EntityRecognizer, RecognizedEntity } from './entities/recognizer.ts';
import { extendOverStreet } from './entities/street-line.ts';
import type { FilterFinding } from './filter-scan.ts';
import type { ScanResult } from './scan-text.ts';

/** How texts are analyzed for names and places. */
export interface EntitySettings {
  /** Undefined: no analyzer is configured. */
  readonly recognizer: EntityRecognizer | undefined;
  /** For all texts of a request together. */
  readonly timeoutMs: number;
}

/** A text and the filters that apply to it. */
export interface AnalyzedText {
  readonly text: string;
  readonly filters: readonly CombinedFilter[];
}

/** Findings of the filters of recognized entities. */
export interface EntityScan {
  /** By index of the text. Texts without findings are absent. */
  readonly results: ReadonlyMap<number, Omit<ScanResult, 'work'>>;
  /** Why texts were not analyzed. Undefined: all were. */
  readonly skipped: string | undefined;
}

/** Characters of a request that are analyzed, the last texts first. */
export const MAX_ANALYZED_LENGTH = 500_000;
const PARALLEL = 4;
/** Findings after which other work runs. */
const SLICE = 300;

type RecognizedFilter = CombinedFilter & { readonly filter: ContentFilter & { readonly slug: RecognizedSlug } };

/** Whether an analyzer serves the filter. */
export const isRecognized = (combined: CombinedFilter): combined is RecognizedFilter =>
  combined.filter.type === 'builtin' && combined.filter.slug in recognizedTypes;

/**
 * Applies the filters of recognized entities to texts. Findings from before a failure of the analyzer count.
 *
 * @throws the reason of the signal
 */
export async function scanEntities(
  texts: readonly AnalyzedText[],
  { recognizer, timeoutMs }: EntitySettings,
  signal: AbortSignal,
): Promise<EntityScan> {
  const results = new Map<number, Omit<ScanResult, 'work'>>();
  const queue = [...texts.entries()].filter(([, { text, filters }]) => text !== '' && filters.some(isRecognized));
  if (queue.length === 0) return { results, skipped: undefined };
  if (!recognizer) return { results, skipped: 'No analyzer is configured (guardrails.analyzer_url).' };

  let left = MAX_ANALYZED_LENGTH;
  let skipped: string | undefined;
  const deadlineAt = performance.now() + timeoutMs;
  async function work(analyzer: EntityRecognizer): Promise<void> {
    for (let next = queue.pop(); next && skipped === undefined; next = queue.pop()) {
      const [at, { text, filters }] = next;
      left -= text.length;
      if (left < 0) {
        skipped = `Only the last ${MAX_ANALYZED_LENGTH} characters of a request are analyzed.`;
        return;
      }
      const types = filters.filter(isRecognized).map(({ filter }) => recognizedTypes[filter.slug]);
      const limits = { timeoutMs: Math.max(1, Math.ceil(deadlineAt - performance.now())), signal };
      try {
        const found = await analyzer.recognize(text, types, limits);
        if (found.length > 0) results.set(at, await applyEntities(text, filters, found));
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        skipped ??= error.message;
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, queue.length) }, () => work(recognizer)));
  return { results, skipped };
}

/** Flags, redacts or blocks entities, in the order of the text. Overlapping ones become one placeholder. */
async function applyEntities(
  text: string,
  filters: readonly CombinedFilter[],
  entities: readonly RecognizedEntity[],
): Promise<Omit<ScanResult, 'work'>> {
  const counts = filters.map(() => 0);
  const findings: FilterFinding[] = [];
  let written = '';
  let writtenEnd = 0;
  let isBlocked = false;
  const spans: RecognizedEntity[] = [];
  for (const entity of entities) {
    if (spans.length % SLICE === SLICE - 1) await nextTurn();
    spans.push(
      entity.type === 'LOCATION' ? { ...entity, ...extendOverStreet(text, entity.start, entity.end) } : entity,
    );
  }
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  for (const { type, start, end } of spans) {
    const index = filters.findIndex((each) => isRecognized(each) && recognizedTypes[each.filter.slug] === type);
    const { filter } = filters[index]!; // only the types of the filters are asked for
    counts[index]!++;
    findings.push({ filter: index, id: type, start, end });
    if (filter.action === 'block') isBlocked = true;
    if (isBlocked) break;
    if (filter.action !== 'redact' || end <= writtenEnd) continue;
    const { placeholder } = builtinTexts[(filter as RecognizedFilter['filter']).slug];
    if (start >= writtenEnd) written += text.slice(writtenEnd, start) + placeholder;
    writtenEnd = end;
  }
  const rest = isBlocked
    ? text.slice(writtenEnd, Math.max(writtenEnd, findings.at(-1)!.start))
    : text.slice(writtenEnd);
  return { text: written + rest, isBlocked, findings, counts };
}
