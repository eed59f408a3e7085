import type { Config } from '../config/schema.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import { type CallService, ServiceError } from '../domain/service.ts';
import { nanoUsdOf } from '../metering/cost.ts';
import type { MediaSource } from '../pipeline/attempts/inline-urls.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import { FileExtractor } from '../plugins/file-parser/file-extractor.ts';
import type { FilePorts } from '../plugins/file-parser/file-reading.ts';
import { readWithOcr } from '../plugins/file-parser/mistral-ocr.ts';

export interface FilePartsOf {
  config: () => Config;
  media: () => MediaSource;
  call: CallService;
  log: WriteLog;
  rejectedKeys: Telemetry['rejectedKeys'];
}

/** Creates the ports of the plugin `file-parser`: worker threads, the fetches of URLs, the OCR service. */
export function createFilePorts({
  config,
  media,
  call,
  log,
  rejectedKeys,
}: FilePartsOf): Omit<FilePorts, 'charge' | 'reserveInput'> {
  const settings = () => config().plugins.file_parser;
  const extractor = new FileExtractor(
    () => {
      const { max_pages, max_characters, max_unpacked_bytes, memory, parallel, queue, ...times } = settings();
      return {
        maxPages: max_pages,
        maxCharacters: max_characters,
        maxUnpackedBytes: max_unpacked_bytes,
        timeoutMs: times.timeout_ms,
        requestTimeoutMs: times.request_timeout_ms,
        memory,
        parallel,
        queue,
      };
    },
    (detail) => log('file parser failed', { detail }),
  );
  return {
    fileLimits() {
      const { max_files, max_bytes, max_characters } = settings();
      const { maxUrls } = media();
      const parallel = extractor.share;
      return { maxFiles: max_files, maxBytes: max_bytes, maxCharacters: max_characters, maxUrls, parallel };
    },
    openFetch(cancellation) {
      const { fetch, maxBytes } = media();
      if (!fetch) return undefined;
      const budget = { left: maxBytes };
      return (url, path) => fetch(url, { kind: 'file', path, budget, cancellation: cancellation as Cancellation }); // the run's own
    },
    extractFile: (bytes, declared, options) => extractor.extract(bytes, declared, options),
    findOcr() {
      const { ocr } = settings();
      if (!ocr) return undefined;
      const { url, api_key: apiKey, model, timeout_ms: timeoutMs, price_per_page: price } = ocr;
      return {
        pageNanoUsd: nanoUsdOf(price),
        read: (pdf, signal) =>
          readWithOcr(call, { url, apiKey, model, timeoutMs }, pdf, signal).catch((error: unknown) => {
            if (error instanceof ServiceError && !rejectedKeys.noteService('ocr', error)) {
              log('ocr failed', { reason: error.reason, status: error.status });
            }
            throw error;
          }),
      };
    },
  };
}
