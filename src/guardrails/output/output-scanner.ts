import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../../domain/caller.ts';
import type { Cancellation } from '../../domain/cancellation.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { StageRecord } from '../../domain/router-metadata.ts';
import { FilterScan, Findings, SLICE_WORK } from '../filter-scan.ts';
import type { FilterSet } from '../filter-sets.ts';
import { FindingTally } from '../finding-tally.ts';
import { JsonScan } from '../json-scan.ts';
import { keepJson } from '../keep-json.ts';
import { mapAnyItem, mapTexts } from '../map-texts.ts';
import { createBlockError, createGuardrailStages, type FilterHit } from '../report-findings.ts';
import type { TextEdits } from '../text-edits.ts';
import type { TextScan } from '../text-scan.ts';
import { GuardedText, keepLogprobs, moveAnnotation } from './guarded-text.ts';

/** The parts of a run that the filters of its output need. */
export interface GuardedRun {
  readonly caller: Pick<Caller, 'contentFilters'>;
  readonly request: Pick<RequestSettings, 'text'>;
  readonly stages: { push(...stages: StageRecord[]): unknown };
  readonly cancellation: Pick<Cancellation, 'reason'>;
  /** Set if the gateway itself makes the request. Its output is filtered in the response that contains it. */
  readonly parent?: object | undefined;
  /** Its server tools: the client does not see calls of functions that they own. */
  readonly toolLoop?: { owns(name: string, namespace: string | undefined): boolean } | undefined;
}

/** The filters that apply to the output. */
export type OutputFilters = Pick<FilterSet, 'combined' | 'compiled'>;

/** Units of work of one call of a scan. */
const CALL_WORK = 100;

/** Applies the filters to the texts of one attempt, in slices, and records what they find. */
export class OutputScanner {
  /** Whether filters change the output. Otherwise nothing waits. */
  readonly isChanging: boolean;
  /** Fields that had to be removed because their text was replaced. */
  readonly dropped = new Set<string>();
  /** Whether a block has been recorded. */
  isReported = false;
  /** Set when nothing waits for the output. */
  isAbandoned = false;
  private readonly run: GuardedRun;
  private readonly filters: OutputFilters;
  private found: Findings;
  /** Units of work until the next pause. */
  private left = 0;

  constructor(run: GuardedRun, filters: OutputFilters) {
    this.run = run;
    this.filters = filters;
    this.isChanging = filters.combined.some(({ filter }) => filter.action !== 'flag');
    this.found = new Findings(filters.compiled);
  }

  /** Begins a batch of chunks: it may take a whole slice before the first pause. */
  beginBatch(): void {
    this.left = SLICE_WORK;
  }

  createScan(isJson: boolean): TextScan {
    const { compiled } = this.filters;
    return isJson ? new JsonScan(compiled, this.found) : new FilterScan(compiled, this.found);
  }

  /** Scans all that was added. Other work runs in between if that is much. */
  scan(scan: TextScan): Promise<void> | undefined {
    return this.scanOn(scan) ? undefined : this.scanSlices(scan);
  }

  private async scanSlices(scan: TextScan): Promise<void> {
    do {
      await nextTurn();
      if (this.run.cancellation.reason) throw this.run.cancellation.reason;
      if (this.isAbandoned) throw new Error('The attempt has ended.'); // nothing waits for it
      this.left = SLICE_WORK;
    } while (!this.scanOn(scan));
  }

  private scanOn(scan: TextScan): boolean {
    const before = scan.work;
    const isDone = scan.advance(Math.max(1, this.left));
    this.left -= scan.work - before + CALL_WORK;
    if (scan.blocked) throw this.block();
    return isDone;
  }

  /** Scans a whole text. */
  revise(text: string, isJson: boolean): MaybePromise<GuardedText> {
    const whole = new GuardedText(this.createScan(isJson), true);
    whole.add(text);
    whole.end();
    const scanning = this.scan(whole.scan);
    const finish = (): GuardedText => {
      whole.take();
      return whole;
    };
    return scanning ? scanning.then(finish) : finish();
  }

  /** Revises all texts in a value. The value itself stays unchanged. */
  async reviseAll<Value>(value: Value, map = mapTexts<Value>): Promise<Value> {
    const texts: { text: string; field: string }[] = [];
    map(
      value,
      (text, field) => {
        texts.push({ text, field });
        return text;
      },
      '',
    );
    let changes: Map<number, string> | undefined;
    for (const [at, { text, field }] of texts.entries()) {
      if (text === '') continue;
      const revised = this.revise(text, field === 'arguments');
      const { whole } = revised instanceof Promise ? await revised : revised;
      if (!this.isChanging || whole === text) continue;
      changes ??= new Map();
      changes.set(at, keepJson(text, whole));
    }
    if (!changes) return value;
    let at = 0;
    return map(value, (text) => changes.get(at++) ?? text, '');
  }

  /** Revises the texts of an item of any kind. */
  reviseOther(item: OutputItem): Promise<OutputItem> {
    return this.reviseAll(item, mapAnyItem);
  }

  moveAnnotations(annotations: readonly unknown[], edits: TextEdits): unknown[] {
    return annotations.flatMap((each) => {
      const moved = isObject(each) ? moveAnnotation(each, edits) : each;
      if (moved === undefined) this.dropped.add('annotations');
      return moved ?? [];
    });
  }

  keepLogprobs(logprobs: unknown, text: string, whole: GuardedText): unknown {
    if (!Array.isArray(logprobs)) return logprobs;
    const kept = keepLogprobs(logprobs, text, whole.scan.edits);
    if (kept.length < logprobs.length) this.dropped.add('logprobs');
    return kept;
  }

  /** Records what the filters found since the last time. */
  report(): void {
    const hits = this.listHits();
    if (hits.length > 0) this.run.stages.push(...createGuardrailStages(hits, { dropped: [...this.dropped] }));
    this.found = new Findings(this.filters.compiled);
  }

  private listHits(): FilterHit[] {
    const tally = new FindingTally();
    tally.add(this.filters.combined, { findings: this.found.list, counts: this.found.counts });
    return tally.list();
  }

  private block(): Error {
    const error = createBlockError(this.listHits(), 'Response');
    this.report();
    this.isReported = true;
    return error;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
