import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { openObjects } from '../compose/open-objects.ts';
import type { Config } from '../config/schema.ts';
import { encodeRows } from '../metering/archive/encode-rows.ts';
import { type RowExportQuery, exportRows } from '../metering/archive/export-rows.ts';
import { type ArchiveFormat, archiveFormats } from '../metering/archive/row-encoders.ts';
import type { ArchiveRow } from '../platform/storage/ports/archives.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import { readStore } from './open-store.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { CommandError, type Terminal } from './terminal.ts';
import { readTimeOption } from './time-option.ts';

export interface ExportOptions {
  /** A date or a time. A date is its whole day in UTC. */
  from: string;
  to: string;
  /** Name, slug or id. Absent: all. */
  workspace?: string;
  format: string;
  /** `-`: the standard output. */
  output: string;
  /** Includes days that are only in the store of files. */
  archived?: boolean;
}

/**
 * Writes the entries and corrections of a range to a file or to the standard output. A large range needs no more memory
 * than a small one. An existing file is replaced when all rows are written.
 *
 * @throws {CommandError} if an option is invalid, an archived day is missing, or the file cannot be written
 */
export async function exportLedger(
  terminal: Pick<Terminal, 'stdout' | 'stderr' | 'closed'>,
  config: Pick<Config, 'storage' | 'files'>,
  { from, to, workspace, format, output, archived = false }: ExportOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  const isFormat = (name: string): name is ArchiveFormat => archiveFormats.some((known) => known === name);
  if (!isFormat(format)) throw new CommandError(`--format ${format}: give ${archiveFormats.join(' or ')}.`);
  const fromMs = readTimeOption('--from', from).startMs;
  const toMs = readTimeOption('--to', to).endMs;
  if (fromMs >= toMs) throw new CommandError(`--from ${from} is after --to ${to}.`);
  if (output === '-' && format === 'parquet' && stdout.isTTY) {
    throw new CommandError('A Parquet file is binary. Name a file with --output, or redirect the output.');
  }
  const days = new Set<number>();
  let rows = 0;
  await readStore({ config, stderr }, async ({ archives, management }) => {
    const query: RowExportQuery = {
      fromMs,
      toMs,
      workspaceId: workspace === undefined ? undefined : await findWorkspaceId(management, workspace),
      includesArchived: archived,
      onOmitted: ({ day }) => void days.add(day),
    };
    const pages = countRows(exportRows({ archives, objects: openObjects(config) }, query), (some) => {
      rows += some;
    });
    const content = encodeRows(pages, format);
    try {
      await (output === '-' ? writeOutput(terminal, content) : writeFile(output, content));
    } catch (error) {
      throw new CommandError(`The export failed: ${(error as Error).message}`, { cause: error });
    }
  });
  if (days.size > 0) {
    const count = `${days.size} archived day${days.size === 1 ? '' : 's'}`;
    stderr.write(`headgate: left out ${count}. --archived includes them.\n`);
  }
  if (output !== '-') stderr.write(`headgate: wrote ${rows} rows to ${output}.\n`);
}

const idShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The ledger keeps the entries of a deleted workspace, which only its id names. */
const findWorkspaceId = async (management: ManagementStore, wanted: string): Promise<string> =>
  idShape.test(wanted) ? wanted : (await resolveWorkspace(management, wanted)).id;

async function* countRows(
  pages: AsyncIterable<ArchiveRow[]>,
  add: (rows: number) => void,
): AsyncGenerator<ArchiveRow[]> {
  for await (const page of pages) {
    add(page.length);
    yield page;
  }
}

async function writeOutput(
  { stdout, closed }: Pick<Terminal, 'stdout' | 'closed'>,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  for await (const bytes of content) {
    if (closed?.aborted) return;
    if (stdout.writeBytes) await stdout.writeBytes(bytes);
    else stdout.write(Buffer.from(bytes).toString());
  }
}

/** Writes to a file beside it first, so that a file with the name is complete. */
async function writeFile(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = `${path}.partial`;
  try {
    await pipeline(content, createWriteStream(draft, { flush: true }));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
