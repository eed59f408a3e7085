import type { Issue } from '../domain/errors.ts';

/** Maximum problems in one response. */
export const maxIssues = 100;
const maxShownCharacters = 60;

/** The problems found so far, in order. At most 100. */
export class Report {
  readonly issues: Issue[] = [];

  get isFull(): boolean {
    return this.issues.length >= maxIssues;
  }

  /**
   * @param path in the body; its last segment starts the message
   * @param says the rule, as the end of a sentence: `must be a string, got 5`
   */
  add(path: string, says: string): void {
    if (this.isFull) return;
    // A question ends with its own mark.
    this.take({ path, message: `${fieldName(path)} ${says}${says.endsWith('?') ? '' : '.'}` });
  }

  /** Creates a report of the same kind, for an explanation that may be discarded. */
  fork(): Report {
    return new Report();
  }

  /** @returns the value for a message; undefined if a message must not show it */
  show(value: unknown): string | undefined {
    return show(value);
  }

  /** Adds an issue of another report. Duplicates are ignored. */
  take(issue: Issue): void {
    const isKnown = this.issues.some((known) => known.path === issue.path && known.message === issue.message);
    if (!this.isFull && !isKnown) this.issues.push(issue);
  }

  hasPath(path: string): boolean {
    return this.issues.some((issue) => issue.path === path);
  }
}

const fieldName = (path: string): string => (path === '' ? 'The body' : `\`${lastSegment(path)}\``);

/** Returns the last segment of a path: `content[0]` of `input[3].content[0]`, `["a.b"]` of `metadata["a.b"]`. */
function lastSegment(path: string): string {
  const afterQuotes = path.lastIndexOf('"]') + 1; // quotes inside a key are escaped, so this one closes it
  const dot = path.indexOf('.', afterQuotes) === -1 ? -1 : path.lastIndexOf('.');
  if (dot !== -1 || afterQuotes === 0) return path.slice(dot + 1);
  return path.slice(path.lastIndexOf('["'));
}

/**
 * Returns the path of a field: `input[3]` and `content` give `input[3].content`. Unusual names are quoted:
 * `metadata["a.b"]`.
 */
export function fieldPath(path: string, field: string): string {
  const name = shorten(field);
  if (!/^[\w$…-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** Formats a value for a message: at most 60 characters of its JSON. Objects and lists are abbreviated. */
export function show(value: unknown): string {
  if (typeof value === 'string') return shorten(JSON.stringify(value.slice(0, maxShownCharacters + 1)));
  if (Array.isArray(value)) return value.length === 1 ? 'a list of 1' : `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) {
    return shorten(`an object {${Object.keys(value).slice(0, 10).join(', ')}}`);
  }
  return value === undefined ? 'nothing' : shorten(String(value));
}

function shorten(text: string): string {
  // toWellFormed, since the cut may fall into a surrogate pair.
  return text.length <= maxShownCharacters ? text : `${text.slice(0, maxShownCharacters - 1).toWellFormed()}…`;
}
