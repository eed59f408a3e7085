import type { CompiledFilters, Entry } from './compile-filters.ts';
import { findOpenEscape } from './normalize/json-escape.ts';
import { isPlain, Normalizer } from './normalize/normalizer.ts';
import { OffsetMap } from './normalize/offset-map.ts';
import { findMatches, Search } from './regex/search.ts';
import { TextEdits } from './text-edits.ts';
import type { TextScan } from './text-scan.ts';

/** A match of a filter. Positions are UTF-16 code units of the text. */
export interface FilterFinding {
  /** Index in the filters of the scan. */
  readonly filter: number;
  /** An entity, a format of a secret, the id of an injection pattern; empty for custom patterns. */
  readonly id: string;
  readonly start: number;
  readonly end: number;
}

/** Findings of one text that are kept. All are counted. */
export const MAX_FINDINGS = 1000;
/** Work of one slice: 1 to 3 ms. */
export const SLICE_WORK = 300_000;

/** Units of work of a match. */
const MATCH_WORK = 100;
/** Code units that are normalized at a time. */
const MAX_RUN = 4096;
/** Units of work of normalizing one of them. */
const NORMALIZE_WORK = 8;

type FilterEntry = Entry & { type: 'filter' };

/** A text whose characters are written in another form than they are scanned in. Positions are those that are scanned. */
export interface WrittenForm {
  /** Returns the written form of the next characters. @param start is the end of the previous call */
  read(start: number, end: number): string;
  /** Replaces the next characters. @returns what replaces them; empty if they extend the characters replaced before */
  replace(start: number, end: number, placeholder: string): string;
}

/** Findings of the filters in one or more texts. */
export class Findings {
  /** The first ones, by position in their text. */
  readonly list: FilterFinding[] = [];
  /** Number of findings of each filter. */
  readonly counts: number[];

  constructor(filters: CompiledFilters) {
    this.counts = filters.filters.map(() => 0);
  }
}

/** A text that is searched: the text itself, or its normalized form. */
interface View {
  readonly search: Search;
  /** Where its positions are in the text. Absent: at the same place. */
  readonly map?: OffsetMap;
  /** Allowed phrases in it. */
  phrases: { start: number; end: number }[];
}

interface Match {
  readonly entry: FilterEntry;
  /** Its index in the entries: the first one of equal matches counts. */
  readonly pattern: number;
  readonly start: number;
  readonly end: number;
  readonly view: View;
  /** Its positions in the view. */
  readonly from: number;
  readonly to: number;
}

/**
 * Scans one text, which may arrive in pieces, and writes it again with placeholders. The result does not depend on where
 * the pieces end. Text is passed on as soon as no filter can still match in it, so a match that spans pieces is never passed on in part.
 *
 * From the first character on that normalization changes, the filters search two texts: the text itself and its normalized
 * form. Matches in either count, at their place in the text.
 *
 * For a stream, call `push` for each piece and `finish` at the end. For a text that may be large, call `add` and `end`, then
 * `advance` until it returns true, with other work in between.
 */
export class FilterScan implements TextScan {
  /** The redactions so far. */
  readonly edits = new TextEdits();
  private readonly found: Findings;
  private readonly form: WrittenForm | undefined;
  private readonly filters: CompiledFilters;
  private readonly matches: Match[] = [];
  private readonly hasPhrases: boolean;
  /** For each filter the end of its last finding: findings of a filter do not overlap. */
  private readonly ends: number[];
  private readonly original: View;
  /** Undefined as long as it is the same text. */
  private normalized: (View & { readonly map: OffsetMap }) | undefined;
  private readonly normalizer = new Normalizer();
  /** Text that is not searched yet, from `pendingAt`: it may have to be normalized. */
  private pending = '';
  private pendingAt = 0;
  /** Length of the text that the searches have. */
  private length = 0;
  private normalizeWork = 0;
  private hasEnded = false;
  private isFinished = false;
  private written: string[] = [];
  private writtenEnd = 0;
  private isBlocked = false;

  /**
   * @param found collects the findings of several texts
   * @param form absent: the text is written as it is scanned
   */
  constructor(filters: CompiledFilters, found = new Findings(filters), form?: WrittenForm) {
    this.filters = filters;
    this.found = found;
    this.form = form;
    this.ends = filters.filters.map(() => 0);
    this.hasPhrases = filters.hasPhrases;
    const search = new Search(filters.set, (pattern, start, end) => this.note(this.original, pattern, start, end));
    this.original = { search, phrases: [] };
  }

  /** Whether a filter with the action `block` has matched. No text leaves from the start of that match on. */
  get blocked(): boolean {
    return this.isBlocked;
  }

  /** The first findings, by position. */
  get findings(): readonly FilterFinding[] {
    return this.found.list;
  }

  /** Number of findings of each filter. */
  get counts(): readonly number[] {
    return this.found.counts;
  }

  /** Text before this position has left, or was replaced. */
  get settled(): number {
    return this.writtenEnd;
  }

  /** Units of work so far. */
  get work(): number {
    return this.original.search.work + (this.normalized?.search.work ?? 0) + this.normalizeWork;
  }

  /** @returns the text that leaves with this piece */
  push(piece: string): string {
    this.add(piece);
    this.advance(Number.POSITIVE_INFINITY);
    return this.take();
  }

  /** @returns the rest of the text */
  finish(): string {
    this.end();
    this.advance(Number.POSITIVE_INFINITY);
    return this.take();
  }

  add(piece: string): void {
    if (this.normalized === undefined && this.pendingAt === this.pending.length && isPlain(piece)) {
      this.normalizer.skipPlain();
      this.original.search.add(piece);
      this.length += piece.length;
      return;
    }
    this.pending = this.pending.slice(this.pendingAt) + piece;
    this.pendingAt = 0;
  }

  end(): void {
    this.hasEnded = true;
  }

  /** Scans on for one slice. @returns whether all that was added is scanned */
  advance(work = SLICE_WORK): boolean {
    const stopAt = this.work + work;
    do {
      const isDone = this.search(stopAt);
      this.settle();
      if (!isDone) return false;
      if (!this.read()) return true;
    } while (this.work < stopAt);
    return false;
  }

  private search(stopAt: number): boolean {
    const { original, normalized } = this;
    if (!original.search.advance(Math.max(1, stopAt - this.work))) return false;
    return normalized === undefined || normalized.search.advance(Math.max(1, stopAt - this.work));
  }

  /** Gives the next characters to the searches. @returns false if there are none for now */
  private read(): boolean {
    const end = this.findRunEnd();
    if (end === this.pendingAt) {
      if (!this.hasEnded || this.isFinished) return false;
      this.isFinished = true;
      this.original.search.end();
      this.normalized?.search.end();
      return true;
    }
    const run = this.pending.slice(this.pendingAt, end);
    this.pendingAt = end;
    this.normalizeWork += run.length * NORMALIZE_WORK;
    const same = this.normalized ? 0 : this.normalizer.skip(run);
    if (same < run.length) {
      this.normalized ??= this.fork(same);
      const { search, map } = this.normalized;
      search.add(run.slice(0, same) + this.normalizer.write(run.slice(same), map));
    }
    this.original.search.add(run);
    this.length += run.length;
    return true;
  }

  /** Where the next run ends: a high surrogate waits for its other half, and so does an escape of JSON. */
  private findRunEnd(): number {
    const { pending, pendingAt } = this;
    const end = Math.min(pending.length, pendingAt + MAX_RUN);
    if (end === pendingAt || (this.hasEnded && end === pending.length)) return end;
    if ((pending.charCodeAt(end - 1) & 0xfc00) === 0xd800) return end - 1;
    return findOpenEscape(pending, pendingAt, end);
  }

  /** Begins to search the normalized text. It is the same so far. @param length of the equal text that follows */
  private fork(length: number): View & { map: OffsetMap } {
    const search = this.original.search.fork((pattern, start, end) => this.note(forked, pattern, start, end));
    const forked = { search, map: new OffsetMap(this.length + length), phrases: [...this.original.phrases] };
    return forked;
  }

  /** Returns what is ready of the text, with placeholders, once. */
  take(): string {
    const text = this.written.length === 1 ? this.written[0]! : this.written.join('');
    if (this.written.length > 0) this.written = [];
    return text;
  }

  private note(view: View, pattern: number, from: number, to: number): void {
    const { search, map, phrases } = view;
    const entry = this.filters.entries[pattern]!;
    search.extraWork += MATCH_WORK + (entry.type === 'filter' ? (to - from) * entry.checkWork : 0);
    if (entry.type === 'phrase') phrases.push({ start: from, end: to });
    else if (!entry.check || entry.check(search.read(from, to))) {
      const start = map ? map.startOf(from) : this.startOf(from);
      const end = map ? map.endOf(to) : (this.normalized?.map.around(to)?.end ?? to);
      this.matches.push({ entry, pattern, start, end, view, from, to });
    }
  }

  /** Returns a position of the text, or where the character begins that it is within: no part of an escape stays. */
  private startOf(position: number): number {
    return this.normalized?.map.around(position)?.start ?? position;
  }

  /** Decides the matches that no later text can change, and writes the text up to them. */
  private settle(): void {
    const { original, normalized } = this;
    const settled = this.startOf(
      Math.min(
        original.search.settled,
        normalized ? normalized.map.startOf(normalized.search.settled) : Number.POSITIVE_INFINITY,
      ),
    );
    let end = settled;
    if (this.matches.length > 0) {
      this.matches.sort((a, b) => a.start - b.start || b.end - a.end || a.pattern - b.pattern);
      let count = 0;
      for (const match of this.matches) {
        const needs = match.entry.alone ? match.end : match.start + 1; // a phrase may begin within the match
        if (needs > settled) {
          end = Math.min(end, match.start);
          break;
        }
        this.decide(match);
        count++;
      }
      this.matches.splice(0, count);
    }
    this.write(end);
    this.release(original, end);
    if (normalized) {
      const first = normalized.map.normalAt(end);
      this.release(normalized, first);
      normalized.map.release(first);
    }
  }

  /** Frees the text of a view before a position. */
  private release(view: View, before: number): void {
    view.search.release(before);
    if (view.phrases.length > 0) view.phrases = view.phrases.filter((phrase) => phrase.end > before);
  }

  private decide(match: Match): void {
    const { entry, start, end } = match;
    if (entry.alone && this.hasPhrases && this.isHidden(entry.alone, match)) return;
    const filter = this.filters.filters[entry.filter]!;
    if (filter.action === 'redact') this.redact(entry, start, end);
    if (filter.action === 'block' && !this.isBlocked) {
      this.write(start);
      this.isBlocked = true;
    }
    if (start < this.ends[entry.filter]!) return;
    this.ends[entry.filter] = end;
    const { counts, list } = this.found;
    counts[entry.filter]!++;
    if (list.length >= MAX_FINDINGS) return;
    list.push({ filter: entry.filter, id: entry.id, start, end });
  }

  /** Whether the match no longer matches after the allowed phrases in it are masked. */
  private isHidden(alone: () => ReturnType<NonNullable<FilterEntry['alone']>>, { view, from, to }: Match): boolean {
    const text = view.search.read(from, to);
    let masked = text;
    for (const phrase of view.phrases) {
      const start = Math.max(0, phrase.start - from);
      const end = Math.min(text.length, phrase.end - from);
      if (start < end) masked = masked.slice(0, start) + '\ufffc'.repeat(end - start) + masked.slice(end);
    }
    return masked !== text && findMatches(alone(), masked).length === 0;
  }

  /** Overlapping matches become one placeholder, that of the first. */
  private redact(entry: FilterEntry, start: number, end: number): void {
    if (start < this.writtenEnd) {
      if (end > this.writtenEnd) this.replace(this.writtenEnd, end, '');
      return;
    }
    this.write(start);
    this.replace(start, end, entry.placeholder);
  }

  /** @param placeholder empty: the span belongs to the redaction before it */
  private replace(start: number, end: number, placeholder: string): void {
    this.append(this.form ? this.form.replace(start, end, placeholder) : placeholder);
    if (placeholder === '') this.edits.extend(end);
    else this.edits.add(start, end, placeholder.length);
    this.writtenEnd = end;
  }

  private write(end: number): void {
    if (end <= this.writtenEnd) return;
    const { form, writtenEnd } = this;
    this.append(form ? form.read(writtenEnd, end) : this.original.search.read(writtenEnd, end));
    this.writtenEnd = end;
  }

  private append(text: string): void {
    if (!this.isBlocked && text !== '') this.written.push(text);
  }
}
