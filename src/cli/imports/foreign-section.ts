import { isMapping } from '../../config/path.ts';
import type { ImportReport } from './import-report.ts';

/**
 * Reads a mapping of a foreign configuration field by field. `finish` reports every field that was not read, so that none
 * is lost.
 */
export class ForeignSection {
  readonly path: string;
  private readonly fields: Map<string, unknown>;
  private readonly report: ImportReport;

  constructor(value: unknown, path: string, report: ImportReport) {
    this.path = path;
    this.report = report;
    this.fields = new Map(isMapping(value) ? Object.entries(value).filter(([, field]) => isSet(field)) : []);
    if (isSet(value) && !isMapping(value)) report.drop(path, 'is no mapping');
  }

  /** Returns a field, and marks it as read. Null is undefined. */
  take(name: string): unknown {
    const value = this.fields.get(name);
    this.fields.delete(name);
    return value;
  }

  /** Returns a text; another value is reported. */
  takeText(name: string): string | undefined {
    return this.takeIf(name, (value) => typeof value === 'string' && value !== '', 'a text') as string | undefined;
  }

  /** Returns a number of 0 or more, also one that is written as a text; another value is reported. */
  takeNumber(name: string): number | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && Number.isFinite(number) && number >= 0) return number;
    this.drop(name, 'is no number of 0 or more');
    return undefined;
  }

  takeFlag(name: string): boolean | undefined {
    return this.takeIf(name, (value) => typeof value === 'boolean', 'true or false') as boolean | undefined;
  }

  takeSection(name: string): ForeignSection {
    return new ForeignSection(this.take(name), this.place(name), this.report);
  }

  /** The names that are left. */
  get names(): string[] {
    return [...this.fields.keys()];
  }

  place(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  drop(name: string, message: string): void {
    this.report.drop(this.place(name), message);
  }

  change(name: string, message: string): void {
    this.report.change(this.place(name), message);
  }

  /** Reports all fields that were not read. @param reasons by name */
  finish(reasons: Readonly<Record<string, string>> = {}): void {
    for (const name of this.names) this.drop(name, reasons[name] ?? 'there is no such setting');
    this.fields.clear();
  }

  private takeIf(name: string, isRight: (value: unknown) => boolean, what: string): unknown {
    const value = this.take(name);
    if (value === undefined || isRight(value)) return value;
    this.drop(name, `is not ${what}`);
    return undefined;
  }
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;
