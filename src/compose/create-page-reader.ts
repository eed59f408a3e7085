import { docsUrl } from '../domain/docs-url.ts';
import type { ReadingShare } from '../domain/reading-share.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import { OutboundError } from '../platform/outbound/outbound-error.ts';
import type { DeclaredType, ExtractedFile } from '../plugins/file-parser/extract/extract-file.ts';
import { FileFault } from '../plugins/file-parser/extract/file-fault.ts';
import { PageError, type PageOptions, type ReadPage } from '../tools/web-fetch/page.ts';

const MAX_PAGE_BYTES = 10 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

/** Names the gateway, so that the rules of a site can name it. */
const userAgent = `Mozilla/5.0 (compatible; headgate; +${docsUrl('guides/server-tools')})`;

type WatchedCancellation = PageOptions['cancellation'];

export interface PageReaderParts {
  outbound: Outbound;
  /** @throws {FileFault} if the file cannot be read */
  extractFile: (
    bytes: Buffer,
    declared: DeclaredType,
    options: { share: ReadingShare; cancellation: WatchedCancellation },
  ) => Promise<ExtractedFile>;
  /** `outbound.fetch`. */
  mayFetch: () => boolean;
}

/** Creates the reader of pages for tools: fetches with the rules for URLs of callers, and extracts the text in a thread. */
export const createPageReader =
  ({ outbound, extractFile, mayFetch }: PageReaderParts): ReadPage =>
  async (url, { cancellation, share, check }) => {
    if (!mayFetch()) throw new PageError('This gateway fetches no URLs (outbound.fetch).');
    try {
      const fetched = await outbound.fetchUrl(url, {
        maxBytes: MAX_PAGE_BYTES,
        timeoutMs: TIMEOUT_MS,
        userAgent,
        cancellation,
        check,
        accept: 'text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.8, */*;q=0.5',
      });
      const { bytes, contentType: mediaType, charset, finalUrl } = fetched;
      const file = await extractFile(bytes, { mediaType, charset, address: finalUrl }, { share, cancellation });
      return { url: finalUrl, title: findTitle(file, finalUrl), content: file.text };
    } catch (error) {
      if (error instanceof OutboundError) throw new PageError(error.message, error.status);
      if (error instanceof FileFault) throw new PageError(error.message);
      throw error;
    }
  };

/** Returns the first heading of a page with markup, otherwise the last part of the URL. */
function findTitle({ kind, text }: ExtractedFile, url: string): string {
  const heading = kind === 'html' ? /^# (.+)$/m.exec(text)?.[1] : undefined;
  const { hostname, pathname } = new URL(url);
  return (heading ?? (pathname.split('/').at(-1) || hostname)).slice(0, 300);
}
