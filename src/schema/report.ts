import type { Issue } from '../domain/errors.ts';

/** As many problems as one answer names; a body with more is hopeless anyway. */
export const maxIssues = 100;
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

  /** A report of the same kind, for an explanation that may be dropped. */
  fork(): Report {
    return new Report();
  }

  /** @returns the value as a message shows it; undefined if a message must not show it */
  show(value: unknown): string | undefined {
    return show(value);
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

const fieldName = (path: string): string => (path === '' ? 'The body' : `\`${lastSegment(path)}\``);

/** What a path ends in: `content[0]` of `input[3].content[0]`, `["a.b"]` of `metadata["a.b"]`. */
function lastSegment(path: string): string {
  const afterQuotes = path.lastIndexOf('"]') + 1; // a quote inside a key is escaped, so the last one closes the last key
  const dot = path.indexOf('.', afterQuotes) === -1 ? -1 : path.lastIndexOf('.');
  if (dot !== -1 || afterQuotes === 0) return path.slice(dot + 1);
  return path.slice(path.lastIndexOf('["'));
}

/** The path of a field: `input[3]` and `content` give `input[3].content`; an odd name is quoted: `metadata["a.b"]`. */
export function fieldPath(path: string, field: string): string {
  const name = shorten(field);
  if (!/^[\w$…-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

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
