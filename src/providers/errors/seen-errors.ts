import type { ErrorMeaning } from './error-patterns.ts';
import seen from './seen-errors.json' with { type: 'json' };

/** An error that a provider is known to send, for tests and for the reference. */
export interface SeenError {
  provider: string;
  means: ErrorMeaning;
  /** Absent: the source does not show it. */
  status?: number;
  body: unknown;
  headers?: Record<string, string>;
  /** A public issue (`owner/name#number`) or a page of documentation. */
  source: string;
  /** The day on which the source was read: `YYYY-MM-DD`. */
  seen: string;
}

export const seenErrors = seen as readonly SeenError[]; // checked by a test
