import { createHash, type Hash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { Objects } from '../../platform/objects/objects.ts';
import type { ArchiveFiles, ArchiveRecord, ArchiveRow } from '../../platform/storage/ports/archives.ts';
import { encodeRows } from './encode-rows.ts';
import type { ArchiveFormat } from './row-encoders.ts';
import { readRowLine } from './row-lines.ts';
import { DAY_MS } from '../windows.ts';

type Pages = AsyncIterable<readonly ArchiveRow[]>;

/** Writes a day (UTC) as a date. */
export const writeDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** Returns the name of a file: an archive has the same names whenever it is written. */
export const nameArchiveFile = (
  { day, workspaceId, part }: Pick<ArchiveRecord, 'day' | 'workspaceId' | 'part'>,
  format: ArchiveFormat,
): string =>
  `ledger/${writeDay(day)}/${encodeURIComponent(workspaceId)}/${part}.${format === 'jsonl' ? 'jsonl.gz' : 'parquet'}`;

/**
 * Writes a file of an archive, and reads it again.
 *
 * @param readPages reads all rows; what it throws leaves the file as it was
 * @throws {Error} if the store returns other bytes than it received
 */
export async function writeArchiveFile(
  objects: Pick<Objects, 'put' | 'open'>,
  archive: ArchiveRecord,
  format: ArchiveFormat,
  pages: Pages,
): Promise<ArchiveFiles[ArchiveFormat]> {
  const name = nameArchiveFile(archive, format);
  const rows = encodeRows(pages, format);
  const written = createHash('sha256');
  const bytes = await objects.put(name, hashBytes(format === 'jsonl' ? compress(rows) : rows, written));
  const sha256 = written.digest('hex');
  const found = await objects.open(name);
  if (!found) throw new Error(`The store of files has no ${name}, which was just written.`);
  const read = createHash('sha256');
  for await (const piece of found.content) read.update(piece as Uint8Array);
  if (found.bytes !== bytes || read.digest('hex') !== sha256) {
    throw new Error(`The store of files returns other bytes for ${name} than were written.`);
  }
  return { bytes, sha256 };
}

async function* hashBytes(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
}

const compress = (content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
  pipeline(Readable.from(content), createGzip(), () => {}); // the reader gets the error

/**
 * Reads the rows of an archive that is written.
 *
 * @throws {Error} if its file is missing or has another number of rows
 */
export async function* readArchive(
  objects: Pick<Objects, 'open'>,
  archive: ArchiveRecord,
): AsyncGenerator<ArchiveRow[]> {
  const name = nameArchiveFile(archive, 'jsonl');
  const found = await objects.open(name);
  if (!found) throw new Error(`The store of files (files.url) has no ${name}.`);
  let rows = 0;
  for await (const lines of splitLines(pipeline(found.content, createGunzip(), () => {}))) {
    rows += lines.length;
    yield lines.map(readRowLine);
  }
  if (rows !== archive.rows) throw new Error(`${name} has ${rows} rows instead of ${archive.rows}.`);
}

/** Splits a text into lines, piece by piece. Every line ends with a line feed. */
async function* splitLines(content: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of content) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') throw new Error('The last line is incomplete.');
}
