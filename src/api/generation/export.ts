import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { exportGenerations, type ExportedContents } from '../../management/generations/write-exported.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import type { HashEndUser } from '../management/read-end-user.ts';
import { readQuery } from '../management/read-query.ts';
import type { ManagementHandler } from '../management/route.ts';
import { readListFilters, readTimeRange } from './read-list-query.ts';

export interface ExportGenerationsParts {
  ledger: Pick<LedgerStore, 'listPage'>;
  contents: ExportedContents;
  /** Resolves when every generation and its contents are in the store. */
  flushLedger: () => Promise<void>;
  hashEndUser: HashEndUser;
  /** @returns undefined if the key is no longer valid */
  findCaller: (keyHash: string) => Caller | undefined;
  /** Whether clients have to connect to another process. */
  isDraining: () => boolean;
}

/** Exports of this process at the same time. */
const MAX_EXPORTS = 4;
/** Time in which a client must read what was sent. */
const SLOW_CLIENT_MS = 60_000;
/** Characters that are written at once. */
const PIECE = 65_536;

/**
 * `GET /generations/export`: generations as lines of JSON, with their contents. An export that cannot continue ends with a line
 * that has an `error`, and its connection is then closed without the end of the body.
 *
 * @see docs/guides/exports.md#bulk-export
 */
export function createExportGenerationsHandler(parts: ExportGenerationsParts): ManagementHandler {
  let open = 0;
  return async function exportGenerationsHandler(request, reply) {
    const caller = request.caller!;
    const { filters, hasContents } = readQuery(request, (reader) => ({
      filters: { ...readListFilters(reader, caller, parts.hashEndUser), ...readTimeRange(reader) },
      hasContents: reader.word('contents', ['true', 'false']) !== 'false',
    }));
    reply.type('application/x-ndjson').header('cache-control', 'no-store');
    if (request.method === 'HEAD') return reply.send('');
    if (open >= MAX_EXPORTS) {
      const message = `Too many exports are running: at most ${MAX_EXPORTS} in this process.`;
      throw new GatewayError('rate_limited', message, { retryAfterSeconds: 10 });
    }
    open++;
    let isOpen = true;
    const close = (): void => {
      if (isOpen) open--;
      isOpen = false;
    };
    reply.raw.once('close', close);
    const pages = exportGenerations(parts.ledger, hasContents ? parts.contents : undefined, {
      ...filters,
      toMs: filters.toMs ?? currentTimeMs() + 1, // it ends although new requests follow
    });
    try {
      const first = await callStore(async () => {
        await parts.flushLedger();
        return pages.next();
      });
      const check = (): void => checkExport(parts, caller);
      const lines = joinPieces(catchErrors(readLines(first, pages, check)));
      return await reply.send(Readable.from(watchClient(lines, reply), { objectMode: true, highWaterMark: 1 }));
    } catch (error) {
      close();
      throw error;
    }
  };
}

type Pages = ReturnType<typeof exportGenerations>;

async function* readLines(
  first: Awaited<ReturnType<Pages['next']>>,
  pages: Pages,
  check: () => void,
): AsyncGenerator<string, void> {
  for (let page = first; !page.done; page = await callStore(() => pages.next())) {
    check();
    yield* page.value;
  }
}

/** @throws {GatewayError} */
function checkExport({ isDraining, findCaller }: ExportGenerationsParts, { keyHash }: Caller): void {
  if (isDraining()) throw new GatewayError('unavailable', 'The gateway is shutting down.');
  if (!findCaller(keyHash)) throw new GatewayError('authentication', 'The key is no longer valid.');
}

/** Writes an error as the last line, and throws it after the line. */
async function* catchErrors(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  try {
    yield* lines;
  } catch (error) {
    const known = await callStore(() => Promise.reject(error)).catch((failure: unknown) => failure);
    const { body } = writeErrorEnvelope(known);
    yield `${JSON.stringify(body)}\n`;
    throw error;
  }
}

/** Joins short lines. If the lines end with an error, everything before it is a piece. */
async function* joinPieces(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let piece = '';
  try {
    for await (const line of lines) {
      piece += line;
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
    }
  } catch (error) {
    if (piece !== '') yield piece;
    throw error;
  }
  if (piece !== '') yield piece;
}

/** Disconnects a client that reads nothing. */
async function* watchClient(pieces: AsyncIterable<string>, { raw }: FastifyReply): AsyncGenerator<string, void> {
  const limit = setTimeout(() => raw.destroy(), SLOW_CLIENT_MS);
  try {
    for await (const piece of pieces) {
      limit.refresh();
      yield piece;
    }
  } finally {
    clearTimeout(limit);
  }
}
