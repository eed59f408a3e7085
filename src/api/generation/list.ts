import { invalidRequest } from '../../domain/errors.ts';
import { writeListed } from '../../management/generations/write-listed.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { entryOrders, MAX_ORDERED } from '../../platform/storage/ports/entries.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import type { HashEndUser } from '../management/read-end-user.ts';
import { readQuery } from '../management/read-query.ts';
import type { ManagementHandler } from '../management/route.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { readListFilters, readTimeRange } from './read-list-query.ts';

export interface ListGenerationsParts {
  ledger: Pick<LedgerStore, 'listPage' | 'count'>;
  /** Resolves when every generation so far is in the store. */
  flushLedger: () => Promise<void>;
  hashEndUser: HashEndUser;
}

/** `next` of a page: an id, after a value in an order by value. */
const positionShape = /^(?:-?\d{1,18}:)?[\w-]{1,100}$/;

/**
 * `GET /generations`: generations, the newest first. A management key sees all, an inference key those of its
 * workspace.
 *
 * @see docs/reference/management.md#generations
 */
export function createListGenerationsHandler({
  ledger,
  flushLedger,
  hashEndUser,
}: ListGenerationsParts): ManagementHandler {
  return async function listGenerations(request) {
    const caller = request.caller!;
    const { query, limit, after, counts } = readQuery(
      request,
      (reader) => {
        const order = reader.word('sort', entryOrders) ?? 'time';
        const query = {
          list: 'generations' as const,
          ...readListFilters(reader, caller, hashEndUser),
          ...readTimeRange(reader),
          order,
          isAscending: reader.word('order', ['asc', 'desc']) === 'asc',
        };
        return {
          query,
          limit: reader.integer('limit', { min: 1, max: 100, byDefault: 50 }),
          after: readCursor(reader, query, { name: 'cursor', text: reader.text('cursor'), shape: positionShape }),
          counts: reader.word('count', ['true', 'false']) === 'true',
        };
      },
      { isStrict: true },
    );
    if (query.order !== 'time' && query.fromMs === undefined) {
      const message = `\`sort=${query.order}\` reads the whole time range, so it needs the beginning of it.`;
      throw invalidRequest([{ path: 'since', message }]);
    }
    const { list: _, ...filters } = query;
    const [page, total] = await callStore(async () => {
      await flushLedger();
      return Promise.all([ledger.listPage({ ...filters, limit, after }), counts ? ledger.count(filters) : undefined]);
    });
    if (page.isTooLarge) {
      const message = `The time range has more than ${MAX_ORDERED.toLocaleString('en-US')} requests, which is too many for \`sort=${query.order}\`. Send a later \`since\` or an earlier \`until\`.`;
      throw invalidRequest([{ path: 'since', message }]);
    }
    return {
      data: page.entries.map((entry) => writeListed(entry, caller.kind === 'management')),
      next_cursor: page.next === undefined ? null : writeCursor(query, page.next),
      ...(total && { total_count: total.count, total_count_is_exact: total.isExact }),
    };
  };
}
