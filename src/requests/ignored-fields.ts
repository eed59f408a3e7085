import { fieldPath } from '../schema/report.ts';

/** The number of ignored fields that a response names. */
const MAX_NAMES = 50;

/**
 * Collects the unknown fields of a body for `params.ignored_fields`, which names the first of them and counts the rest.
 */
export class IgnoredFields {
  private readonly paths: string[] = [];
  private more = 0;

  /** @param path of the object that has the field */
  add(path: string, field: string): void {
    if (this.paths.length < MAX_NAMES) this.paths.push(fieldPath(path, field));
    else this.more++;
  }

  list(): string[] {
    return this.more === 0 ? this.paths : [...this.paths, `… and ${this.more} more`];
  }
}
