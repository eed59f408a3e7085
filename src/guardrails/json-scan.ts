import type { CompiledFilters } from './compile-filters.ts';
import { FilterScan, Findings, SLICE_WORK, type WrittenForm } from './filter-scan.ts';
import { readEscape } from './normalize/json-escape.ts';
import { TextEdits } from './text-edits.ts';
import type { TextScan } from './text-scan.ts';

/** Characters that are taken from the pieces at a time. */
const MAX_RUN = 4096;
/** Units of work of a character that is read. */
const READ_WORK = 2;
/** Units of work of another text. */
const TEXT_WORK = 200;
/** A backslash that begins no escape stands for itself. */
const BACKSLASH = { text: '\\', length: 1 };

/**
 * Scans JSON. Each string is a separate text, which is scanned as it reads after its escapes are decoded, and so is what is
 * between two strings. Text that is not redacted stays unchanged, escapes included. A placeholder outside of strings
 * becomes a string, and neighboring ones become one string, so that JSON remains JSON. Text that is not JSON is scanned in the same way.
 *
 * @see docs/reference/guardrails.md#arguments-of-tool-calls
 */
export class JsonScan implements TextScan {
  work = 0;
  private readonly filters: CompiledFilters;
  private readonly found: Findings;
  private readonly form = new JsonForm();
  private scan: FilterScan;
  /** Unread text, from `at`. */
  private raw = '';
  private at = 0;
  private isInString = false;
  /** Whether the text that is scanned is complete: a quote follows. */
  private isAtQuote = false;
  private hasEnded = false;
  private isFinished = false;
  private written: string[] = [];

  /** @param found collects the findings of several texts */
  constructor(filters: CompiledFilters, found = new Findings(filters)) {
    this.filters = filters;
    this.found = found;
    this.scan = new FilterScan(filters, found, this.form);
  }

  get blocked(): boolean {
    return this.scan.blocked;
  }

  get edits(): TextEdits {
    return this.form.edits;
  }

  get settled(): number {
    return this.form.position;
  }

  add(piece: string): void {
    this.raw = this.at < this.raw.length ? this.raw.slice(this.at) + piece : piece;
    this.at = 0;
  }

  end(): void {
    this.hasEnded = true;
  }

  advance(work = SLICE_WORK): boolean {
    const stopAt = this.work + work;
    for (;;) {
      const before = this.scan.work;
      const isDone = this.scan.advance(Math.max(1, stopAt - this.work));
      this.work += this.scan.work - before;
      const text = this.scan.take();
      if (text !== '') this.written.push(text);
      if (this.blocked) return true; // nothing of the rest leaves
      if (!isDone) return false;
      if (this.isAtQuote) this.passQuote();
      if (this.work >= stopAt) return false;
      const start = this.at;
      if (!this.read()) return true;
      this.work += (this.at - start) * READ_WORK;
    }
  }

  take(): string {
    const text = this.written.length === 1 ? this.written[0]! : this.written.join('');
    if (this.written.length > 0) this.written = [];
    return text;
  }

  /** The next string, or what is between strings, begins. */
  private passQuote(): void {
    this.written.push('"');
    this.isAtQuote = false;
    this.isInString = !this.isInString;
    this.form.begin(this.isInString);
    this.scan = new FilterScan(this.filters, this.found, this.form);
    this.work += TEXT_WORK;
  }

  /** Gives the next characters to the scan. @returns false if there are none for now */
  private read(): boolean {
    if (this.at === this.raw.length) return this.readEnd();
    const { raw, at, form } = this;
    const end = Math.min(raw.length, at + MAX_RUN);
    const text = this.isInString ? this.decode(end) : this.readBetween(end);
    if (this.at === at) return this.readEnd(); // an escape is incomplete
    form.add(raw.slice(at, this.isAtQuote ? this.at - 1 : this.at));
    this.scan.add(text);
    if (this.isAtQuote) this.scan.end();
    return true;
  }

  private readEnd(): boolean {
    if (!this.hasEnded || this.isFinished) return false;
    this.isFinished = true;
    this.scan.end();
    return true;
  }

  private readBetween(end: number): string {
    const text = this.raw.slice(this.at, end);
    const quote = text.indexOf('"');
    if (quote === -1) {
      this.at = end;
      return text;
    }
    this.at += quote + 1;
    this.isAtQuote = true;
    return text.slice(0, quote);
  }

  /** Decodes up to the end of the string, or to an escape that is incomplete. */
  private decode(end: number): string {
    const { raw } = this;
    let text = '';
    while (this.at < end) {
      const start = this.at;
      let next = start;
      for (; next < end; next++) {
        const unit = raw.charCodeAt(next);
        if (unit === 0x22 || unit === 0x5c) break;
      }
      text += raw.slice(start, next);
      this.at = next;
      if (next === end) break;
      if (raw.charCodeAt(next) === 0x22) {
        this.at++;
        this.isAtQuote = true;
        break;
      }
      const read = readEscape(raw, next);
      if (read === 'open' && !this.hasEnded) break;
      const found = typeof read === 'string' ? BACKSLASH : read;
      this.form.noteEscape(text.length, found.length);
      text += found.text;
      this.at += found.length;
    }
    this.form.endRun(text.length);
    return text;
  }
}

/** The JSON that a scan reads. Every escape stands for one character of the text that is scanned. */
class JsonForm implements WrittenForm {
  readonly edits = new TextEdits();
  /** The end of the written part of the JSON. */
  position = 0;
  /** The JSON of the text that is scanned, from `position`. */
  private raw = '';
  /** Characters of that text that were written. */
  private written = 0;
  /** Characters of that text that the scan was given. */
  private taken = 0;
  /** Escapes that were not written: where they are in that text, and how many characters they have more than it. */
  private escapes: { at: number; more: number }[] = [];
  private isInString = false;

  /** Where the last redaction of that text ends. */
  private redactedTo = -1;

  /** Another text begins, after a quote. */
  begin(isInString: boolean): void {
    this.position++;
    this.raw = '';
    this.written = 0;
    this.taken = 0;
    this.escapes = [];
    this.isInString = isInString;
  }

  add(raw: string): void {
    this.raw += raw;
  }

  /** @param offset in the run of characters that is being read */
  noteEscape(offset: number, length: number): void {
    if (length > 1) this.escapes.push({ at: this.taken + offset, more: length - 1 });
  }

  endRun(length: number): void {
    this.taken += length;
  }

  read(_start: number, end: number): string {
    let length = end - this.written;
    let count = 0;
    for (; count < this.escapes.length && this.escapes[count]!.at < end; count++) length += this.escapes[count]!.more;
    if (count > 0) this.escapes.splice(0, count);
    const text = this.raw.slice(0, length);
    this.raw = this.raw.slice(length);
    this.written = end;
    this.position += length;
    return text;
  }

  replace(start: number, end: number, placeholder: string): string {
    const before = this.position;
    this.read(start, end);
    const continues = placeholder === '' || (!this.isInString && this.redactedTo === before); // two strings are no JSON
    this.redactedTo = this.position;
    if (continues) {
      this.edits.extend(this.position);
      return '';
    }
    const text = this.isInString ? placeholder : JSON.stringify(placeholder);
    this.edits.add(before, this.position, text.length);
    return text;
  }
}
