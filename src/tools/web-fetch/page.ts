import type { Cancellation } from '../../domain/cancellation.ts';
import type { ReadingShare } from '../../domain/reading-share.ts';

/** The text of a page. */
export interface WebPage {
  /** After redirects. */
  readonly url: string;
  readonly title: string;
  /** Markdown, or the text itself if it has no markup. */
  readonly content: string;
}

export interface PageOptions {
  readonly cancellation: Pick<Cancellation, 'reason' | 'deadlineAt' | 'signal' | 'add' | 'remove'>;
  /** The same object for all pages of a response. */
  readonly share: ReadingShare;
  /** Called for each URL before it is requested, also after a redirect. @throws {PageError} if it must not be */
  check(url: URL): void;
}

/**
 * Fetches a page and extracts its text.
 *
 * @throws {PageError} if there is none; the reason of the cancellation
 */
export type ReadPage = (url: string, options: PageOptions) => Promise<WebPage>;

/** The reason why a page has no text. The message is for the model. */
export class PageError extends Error {
  override readonly name = 'PageError';
  /** The HTTP status, if it is the reason. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(status === undefined ? message : `HTTP ${status}: ${message}`);
    this.status = status;
  }
}
