import type { CompiledFilters, Entry } from './compile-filters.ts';
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

interface Match {
  readonly entry: FilterEntry;
  /** Its index in the entries: the first one of equal matches counts. */
  readonly pattern: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Scans one text, which may arrive in pieces, and writes it again with placeholders. The result does not depend on where
 * the pieces end. Text is passed on as soon as no filter can still match in it, so a match that spans pieces is never passed on in part.
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
  private readonly search: Search;
  private readonly matches: Match[] = [];
  private readonly phrases: { start: number; end: number }[] = [];
  private readonly hasPhrases: boolean;
  /** For each filter the end of its last finding: findings of a filter do not overlap. */
  private readonly ends: number[];
  private written: string[] = [];
  private writtenEnd = 0;
  private redactedBy = -1;
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
    this.search = new Search(filters.set, (pattern, start, end) => this.note(pattern, start, end));
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
    return this.search.work;
  }

  /** @returns the text that leaves with this piece */
  push(piece: string): string {
    this.search.add(piece);
    this.advance(Number.POSITIVE_INFINITY);
    return this.take();
  }

  /** @returns the rest of the text */
  finish(): string {
    this.search.end();
    this.advance(Number.POSITIVE_INFINITY);
    return this.take();
  }

  add(piece: string): void {
    this.search.add(piece);
  }

  end(): void {
    this.search.end();
  }

  /** Scans on for one slice. @returns whether all that was added is scanned */
  advance(work = SLICE_WORK): boolean {
    const isDone = this.search.advance(work);
    this.settle();
    return isDone;
  }

  /** Returns what is ready of the text, with placeholders, once. */
  take(): string {
    const text = this.written.length === 1 ? this.written[0]! : this.written.join('');
    if (this.written.length > 0) this.written = [];
    return text;
  }

  private note(pattern: number, start: number, end: number): void {
    const entry = this.filters.entries[pattern]!;
    this.search.extraWork += MATCH_WORK + (entry.type === 'filter' ? (end - start) * entry.checkWork : 0);
    if (entry.type === 'phrase') this.phrases.push({ start, end });
    else if (!entry.check || entry.check(this.search.read(start, end)))
      this.matches.push({ entry, pattern, start, end });
  }

  /** Decides the matches that no later text can change, and writes the text up to them. */
  private settle(): void {
    const { settled } = this.search;
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
    if (this.phrases.length > 0) {
      const first = this.matches[0]?.start ?? settled;
      const kept = this.phrases.filter((phrase) => phrase.end > first);
      this.phrases.splice(0, this.phrases.length, ...kept);
    }
    this.search.release(end);
  }

  private decide({ entry, start, end }: Match): void {
    if (entry.alone && this.hasPhrases && this.isHidden(entry.alone, start, end)) return;
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
  private isHidden(alone: () => ReturnType<NonNullable<FilterEntry['alone']>>, start: number, end: number): boolean {
    const text = this.search.read(start, end);
    let masked = text;
    for (const phrase of this.phrases) {
      const from = Math.max(0, phrase.start - start);
      const to = Math.min(text.length, phrase.end - start);
      if (from < to) masked = masked.slice(0, from) + '\ufffc'.repeat(to - from) + masked.slice(to);
    }
    return masked !== text && findMatches(alone(), masked).length === 0;
  }

  /** Overlapping matches become one placeholder, that of the first. So do matches of a filter without text in between. */
  private redact(entry: FilterEntry, start: number, end: number): void {
    const continues = start < this.writtenEnd || (start === this.writtenEnd && this.redactedBy === entry.filter);
    if (continues && this.redactedBy >= 0) {
      if (end > this.writtenEnd) this.replace(this.writtenEnd, end, '');
      return;
    }
    this.write(start);
    this.replace(start, end, entry.placeholder);
    this.redactedBy = entry.filter;
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
    this.append(form ? form.read(writtenEnd, end) : this.search.read(writtenEnd, end));
    this.writtenEnd = end;
    this.redactedBy = -1;
  }

  private append(text: string): void {
    if (!this.isBlocked && text !== '') this.written.push(text);
  }
}
