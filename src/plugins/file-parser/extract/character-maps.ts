import { readFile } from 'node:fs/promises';

/**
 * Reads the character maps that some Chinese, Japanese and Korean PDFs need, from the package pdfjs-dist if it is
 * installed beside the gateway. PDF.js itself would fetch them, which does not work for files.
 */
export class CharacterMaps {
  /** @throws if there is no such map; the text that needs it is then missing */
  async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
    return await readCharacterMap(filename, new URL('./cmaps/', import.meta.resolve('pdfjs-dist/package.json')));
  }
}

/** @param name as a PDF has it @param folder ends with a slash */
export async function readCharacterMap(name: string, folder: URL): Promise<Uint8Array> {
  if (!/^[\w-]+\.bcmap$/.test(name)) throw new Error('It is not a character map.');
  return new Uint8Array(await readFile(new URL(name, folder)));
}
