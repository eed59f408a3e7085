import type { Issue } from '../../domain/errors.ts';

/** As many problems as one answer names; a body with more is hopeless anyway. */
const maxIssues = 100;
const maxShownCharacters = 60;

/** The problems found so far, in the order in which they were found; at most 100. */
export class Report {
  readonly issues: Issue[] = [];

  get isFull(): boolean {
    return this.issues.length >= maxIssues;
  }

  /**
   * @param path where in the body; the last segment opens the message
   * @param says what must hold, as the end of a sentence: `must be a string, got 5`
   */
  add(path: string, says: string): void {
    if (this.isFull) return;
    // A question ends in its own mark.
    this.take({ path, message: `${fieldName(path)} ${says}${says.endsWith('?') ? '' : '.'}` });
  }

  /** An issue as another report worded it; once only. */
  take(issue: Issue): void {
    const isKnown = this.issues.some((known) => known.path === issue.path && known.message === issue.message);
    if (!this.isFull && !isKnown) this.issues.push(issue);
  }

  hasPath(path: string): boolean {
    return this.issues.some((issue) => issue.path === path);
  }
}

const fieldName = (path: string): string => (path === '' ? 'The body' : `\`${shorten(lastSegment(path))}\``);

const lastSegment = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/** The path of a field: `input[3]` and `content` give `input[3].content`. */
export const fieldPath = (path: string, field: string): string =>
  path === '' ? shorten(field) : `${path}.${shorten(field)}`;

/** A value as a message shows it: its JSON, at most 60 characters of it; objects and lists only in outline. */
export function show(value: unknown): string {
  if (typeof value === 'string') return shorten(JSON.stringify(value.slice(0, maxShownCharacters + 1)));
  if (Array.isArray(value)) return value.length === 1 ? 'a list of 1' : `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) {
    return shorten(`an object {${Object.keys(value).slice(0, 10).join(', ')}}`);
  }
  return shorten(String(value));
}

function shorten(text: string): string {
  // toWellFormed, since the cut may fall into a surrogate pair.
  return text.length <= maxShownCharacters ? text : `${text.slice(0, maxShownCharacters - 1).toWellFormed()}…`;
}
