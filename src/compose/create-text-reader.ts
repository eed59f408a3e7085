import { buffer } from 'node:stream/consumers';
import type { Config } from '../config/schema.ts';
import { openFileContent } from '../management/files/file-objects.ts';
import type { IndexParts } from '../management/files/index-files.ts';
import type { FileParts } from '../management/files/parts.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { FileFault } from '../plugins/file-parser/extract/file-fault.ts';
import { FileExtractor } from '../plugins/file-parser/file-extractor.ts';

/** Types whose text another thread extracts. */
const extracted = /^application\/(pdf$|vnd\.openxmlformats-officedocument\.)/;
const textual = /^(text\/|application\/(json|x-ndjson)$)/;
/** Maximum bytes of a character in UTF-8. */
const BYTES_PER_CHARACTER = 4;

/**
 * Creates the reader of texts for the search. It has its own thread, so that requests never wait for it. It loads
 * the thread at the first PDF or Office file.
 */
export function createTextReader(
  parts: Pick<FileParts, 'objects'>,
  config: () => Config,
  log: WriteLog,
): IndexParts['readText'] {
  const extractor = new FileExtractor(
    () => {
      const { max_pages, max_characters, max_unpacked_bytes, timeout_ms, memory } = config().plugins.file_parser;
      return {
        maxPages: max_pages,
        maxCharacters: max_characters,
        maxUnpackedBytes: max_unpacked_bytes,
        timeoutMs: timeout_ms,
        requestTimeoutMs: timeout_ms,
        memory,
        parallel: 1,
        queue: 1,
      };
    },
    (detail) => log('file parser failed', { detail }),
  );
  return async (file, maxCharacters, stop) => {
    const { mimeType } = file;
    if (textual.test(mimeType)) {
      const end = maxCharacters * BYTES_PER_CHARACTER;
      const { content } = await openFileContent(parts, file, { start: 0, end });
      const text = new TextDecoder().decode(await buffer(content), { stream: file.bytes > end });
      return text.trim() === '' ? undefined : text;
    }
    if (!extracted.test(mimeType) || file.bytes > config().plugins.file_parser.max_bytes) return undefined;
    const { content } = await openFileContent(parts, file);
    try {
      const bytes = await buffer(content);
      const share = { workspaceId: file.workspaceId, usedMs: 0 };
      const { text } = await extractor.extract(bytes, { mediaType: mimeType }, { share, cancellation: stop });
      return text.trim() === '' ? undefined : text;
    } catch (error) {
      if (error instanceof FileFault) return undefined; // damaged, encrypted or beyond the limits of the parser
      throw error;
    }
  };
}
