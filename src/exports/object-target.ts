import { setTimeout as delay } from 'node:timers/promises';
import { type ExportedContents, writeExportedLines } from '../management/generations/write-exported.ts';
import { HOUR_MS } from '../platform/hourly.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { LedgerRow } from '../platform/storage/ports/entries.ts';
import type { ExportBatch, ExportTarget } from './run-export.ts';

/** Rows of one object. An hour with more rows has several objects. */
const MAX_ROWS = 50_000;
/** Time in which the contents of the last requests reach the store. */
const SETTLE_MS = 5000;
/** Characters that are written at once. */
const PIECE = 65_536;

export interface ObjectTargetParts {
  objects: Pick<Objects, 'put'>;
  /** The beginning of all keys, without `/` at its end. */
  prefix: string;
  /** Undefined: contents are left out. */
  contents: ExportedContents | undefined;
  /** Time between two objects. Absent: an hour. */
  everyMs?: number | undefined;
}

/**
 * Creates the target that writes rows to objects, as lines of JSON. An object replaces the one of an earlier attempt, which
 * has the same key: the time when the batch was planned, and the id of its last row.
 */
export function createObjectTarget({ objects, prefix, contents, everyMs = HOUR_MS }: ObjectTargetParts): ExportTarget {
  return {
    sink: 'files',
    maxRows: MAX_ROWS,
    everyMs,
    async write({ plannedAtMs, lastId, isRetry, read }: ExportBatch, signal) {
      if (contents && !isRetry) await delay(Math.min(SETTLE_MS, everyMs), undefined, { signal });
      const [date, time] = new Date(plannedAtMs).toISOString().split('T') as [string, string];
      const key = `${prefix}/${date.replaceAll('-', '/')}/${time.slice(0, 2)}/${lastId}.jsonl`;
      await objects.put(key, encode(writeLines(read(), contents), signal));
    },
  };
}

async function* writeLines(
  pages: AsyncIterable<LedgerRow[]>,
  contents: ExportedContents | undefined,
): AsyncGenerator<string, void> {
  for await (const rows of pages) {
    const entries = rows.flatMap(({ entry, correction }) => (correction ? [] : [entry]));
    yield* writeExportedLines(entries, contents);
    for (const { entry, correction } of rows) if (correction) yield writeCorrection(entry, correction);
  }
}

/** An amount that was added to an entry later. */
const writeCorrection = (
  { id, createdAtMs, workspaceId, keyHash, isByok, costNanoUsd }: LedgerRow['entry'],
  { of, atMs }: NonNullable<LedgerRow['correction']>,
): string =>
  `${JSON.stringify({
    id,
    corrects: of,
    created_at: new Date(createdAtMs).toISOString(),
    corrected_at: new Date(atMs).toISOString(),
    workspace_id: workspaceId,
    api_key_hash: keyHash,
    is_byok: isByok,
    total_cost: Number(costNanoUsd) / 1e9,
  })}\n`;

async function* encode(lines: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  let piece = '';
  for await (const line of lines) {
    signal.throwIfAborted();
    piece += line;
    if (piece.length < PIECE) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  if (piece !== '') yield Buffer.from(piece);
}
