import { CharacterMaps } from './character-maps.ts';
import { FileFault } from './file-fault.ts';
import type { Markdown } from './markdown.ts';
import { type PdfLine, type PdfPiece, readLines, writeLines } from './pdf-lines.ts';

/** A document of PDF.js, as far as it is used here. */
interface PdfDocument {
  numPages: number;
  loadingTask: { destroy(): Promise<void> };
  getPage(number: number): Promise<{
    getTextContent(): Promise<{ items: readonly object[] }>;
    cleanup(): unknown;
  }>;
}

/**
 * Writes the text of a PDF. Pages are read one after another, so that only one is in memory.
 *
 * @param out absent: the pages are only counted
 * @returns the number of pages
 * @throws {FileFault} if it is damaged, encrypted, too long, or has no text
 */
export async function readPdf(bytes: Buffer, maxPages: number, out: Markdown | undefined): Promise<number> {
  const { getDocumentProxy } = await import('unpdf');
  const { VerbosityLevel } = (await import('unpdf/pdfjs')) as { VerbosityLevel: { ERRORS: number } }; // its own types are those of pdfjs-dist
  let lacksMaps = false;
  class Maps extends CharacterMaps {
    override fetch(file: { filename: string }): Promise<Uint8Array> {
      return super.fetch(file).catch((error: unknown) => {
        lacksMaps = true;
        throw error;
      });
    }
  }
  const pdf = await (
    getDocumentProxy(new Uint8Array(bytes), {
      verbosity: VerbosityLevel.ERRORS,
      useWorkerFetch: false,
      BinaryDataFactory: Maps,
    }) as Promise<PdfDocument>
  ).catch(explainFailure);
  try {
    if (pdf.numPages > maxPages) {
      throw new FileFault(
        `It has ${pdf.numPages} pages; at most ${maxPages} are read (plugins.file_parser.max_pages). Send a part of it.`,
      );
    }
    if (!out) return pdf.numPages;
    const lines: PdfLine[] = [];
    let characters = 0;
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number).catch(explainFailure);
      const { items } = await page.getTextContent().catch(explainFailure);
      for (const line of readLines(items.filter((item) => 'str' in item) as PdfPiece[])) {
        characters += line.text.length;
        lines.push(line);
      }
      out.check(characters);
      page.cleanup();
    }
    writeLines(lines, out);
    if (out.text === '') {
      if (lacksMaps) {
        throw new FileFault(
          'Its text needs character maps that this gateway lacks (npm install pdfjs-dist adds them).',
        );
      }
      throw new FileFault(
        'It contains no text. It may be scanned: use the engine mistral-ocr, or a model that reads files itself.',
      );
    }
    return pdf.numPages;
  } finally {
    await pdf.loadingTask.destroy(); // the thread continues with other files
  }
}

function explainFailure(error: unknown): never {
  const { name = '', message = '' } = error as Partial<Error>;
  if (name === 'PasswordException') {
    throw new FileFault('It is encrypted with a password. Send it without the password.');
  }
  throw new FileFault(`It is damaged: ${message.slice(0, 200).replace(/\.$/, '') || 'no PDF reader can open it'}.`);
}
