import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ResponseHeaders } from '../../http/sse.ts';
import { SseResponse, sseHeaders, waitForDrain } from '../../http/sse.ts';
import { followEntries, type FollowedEntries, type FollowQuery } from '../../management/generations/follow.ts';
import { writeListed } from '../../management/generations/write-listed.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import type { HashEndUser } from '../management/read-end-user.ts';
import { type QueryReader, readQuery } from '../management/read-query.ts';
import { type CallerWatch, watchCaller } from '../management/watch-caller.ts';
import type { ManagementHandler } from '../management/route.ts';
import { type CursorQuery, readCursor, writeCursor } from './cursor.ts';
import { readListFilters } from './read-list-query.ts';

export interface LiveGenerationsParts extends CallerWatch {
  ledger: Pick<LedgerStore, 'readNew' | 'readEnd' | 'listPage'>;
  flushLedger: () => Promise<void>;
  hashEndUser: HashEndUser;
  /** Whether clients have to connect to another process. */
  isDraining: () => boolean;
  keepAliveMs: () => number;
}

/** Feeds of this process, and those of one key. */
const MAX_FEEDS = 100;
const MAX_FEEDS_OF_KEY = 10;
/** Feeds that only management keys get, so that other keys cannot take all of them. */
const RESERVED_FEEDS = 20;
/** Longest feed. The client continues with its cursor. */
const LIFETIME_MS = 3_600_000;
/** Time in which a client must read what was sent. */
const SLOW_CLIENT_MS = 60_000;
/** Interval of comments if the configuration turns off those of responses. */
const KEEP_ALIVE_MS = 15_000;
/** How often the shutdown is checked. */
const CHECK_MS = 500;
/** Pause after the store has failed. */
const RETRY_MS = 2_000;

const positionShape = /^\d{1,18}:[\w-]{0,100}(?:\.\d{1,10})?$/;

/**
 * `GET /generations/live`: generations as they are recorded.
 *
 * @see docs/reference/management.md#live-list
 */
export function createLiveGenerationsHandler(parts: LiveGenerationsParts): ManagementHandler {
  const { ledger, flushLedger, hashEndUser } = parts;
  const open = new Map<string, number>();
  let total = 0;

  /** @throws {GatewayError} `rate_limited` */
  function admit({ keyHash, kind }: Caller): () => void {
    const own = open.get(keyHash) ?? 0;
    const max = kind === 'management' ? MAX_FEEDS : MAX_FEEDS - RESERVED_FEEDS;
    if (total >= max || own >= MAX_FEEDS_OF_KEY) {
      const most = total >= max ? `${max} in this process` : `${MAX_FEEDS_OF_KEY} of one key`;
      throw new GatewayError('rate_limited', `Too many feeds are open: at most ${most}.`, { retryAfterSeconds: 10 });
    }
    open.set(keyHash, own + 1);
    total++;
    return () => {
      const left = open.get(keyHash)! - 1;
      if (left > 0) open.set(keyHash, left);
      else open.delete(keyHash);
      total--;
    };
  }

  return async function liveGenerations(request, reply) {
    const caller = request.caller!;
    const { query, after, last } = readQuery(request, (reader) => readFeedQuery(request, reader, hashEndUser), {
      isStrict: true,
    });
    const { list: _, ...filters } = query;
    if (request.method === 'HEAD') return reply.headers(sseHeaders).send();
    const release = admit(caller);
    const gone = new AbortController();
    const end = (): void => gone.abort();
    reply.raw.once('close', end);
    const unwatch = watchCaller(request, parts, end);
    const check = setInterval(() => parts.isDraining() && end(), CHECK_MS);
    const lifetime = setTimeout(end, LIFETIME_MS);
    const readLast: FollowQuery['readLast'] = async () => {
      if (last === 0) return [];
      return (await ledger.listPage({ ...filters, limit: last })).entries.reverse();
    };
    try {
      if (after === undefined) await callStore(flushLedger); // requests that have ended are not new
      const feed = new Feed(reply, query, parts.keepAliveMs() || KEEP_ALIVE_MS);
      await serveFeed(feed, { ledger, filters, after, readLast, signal: gone.signal });
    } finally {
      clearInterval(check);
      unwatch();
      clearTimeout(lifetime);
      reply.raw.off('close', end);
      release();
    }
    return reply.hijack();
  };
}

function readFeedQuery(request: FastifyRequest, reader: QueryReader, hashEndUser: HashEndUser) {
  const query = { list: 'live' as const, ...readListFilters(reader, request.caller!, hashEndUser) };
  const sent = request.headers['last-event-id'];
  const again = typeof sent === 'string' && sent !== '' ? sent : undefined;
  const cursor = reader.text('cursor');
  return {
    query,
    last: reader.integer('last', { min: 0, max: 100, byDefault: 0 }),
    // A browser that connects again sends both. The header is the later one.
    after: readCursor(reader, query, {
      name: again === undefined ? 'cursor' : 'last-event-id',
      text: again ?? cursor,
      shape: positionShape,
    }),
  };
}

/** Serves a feed to its end. @throws {GatewayError} only before it has begun */
async function serveFeed(feed: Feed, query: FollowQuery): Promise<void> {
  const { signal } = query;
  let position = query.after;
  try {
    while (!signal.aborted) {
      try {
        for await (const read of followEntries({ ...query, after: position })) {
          if (signal.aborted) break;
          position = read.position;
          await feed.write(read, signal);
        }
      } catch (cause) {
        if (!feed.begun) await callStore(() => Promise.reject(cause));
        await delay(RETRY_MS, undefined, { signal }).catch(() => {}); // the loop ends
      }
    }
  } finally {
    feed.close();
  }
}

/** Writes generations as server-sent events. The id of each one is the cursor after it. */
class Feed extends SseResponse {
  private readonly query: CursorQuery;
  private readonly seesAll: boolean;
  private position = '';

  constructor(reply: FastifyReply, query: CursorQuery, keepAliveMs: number) {
    super(reply.raw, { headers: () => reply.getHeaders() as ResponseHeaders, keepAliveMs });
    this.query = query;
    this.seesAll = reply.request.caller!.kind === 'management';
  }

  /** A comment, and the cursor after the entries that did not match. An event without data is none. */
  protected override get idleText(): string {
    return `: waiting\n${this.writeId(this.position)}\n`;
  }

  /** A comment before the first read would take the status of its failure. */
  protected override mayComment(): boolean {
    return this.begun && super.mayComment();
  }

  /** Resolves when the client can take more. */
  async write({ entries, position }: FollowedEntries, signal: AbortSignal): Promise<void> {
    const isFirst = this.position === '';
    this.position = position;
    const text = entries.map((each) => this.writeEvent(each)).join('');
    if (text === '' && !isFirst) return;
    const isDrained = this.send(isFirst ? `retry: ${RETRY_MS}\n${this.writeId(position)}\n${text}` : text);
    if (!isDrained) await waitForClient(this.raw, signal);
  }

  close(): void {
    this.stop();
    if (this.begun) this.endBody();
  }

  private writeEvent({ entry, position }: FollowedEntries['entries'][number]): string {
    return `${this.writeId(position)}data: ${JSON.stringify(writeListed(entry, this.seesAll))}\n\n`;
  }

  private writeId(position: string): string {
    return `id: ${writeCursor(this.query, position)}\n`;
  }
}

/** Waits for a client that reads slowly. One that reads nothing is disconnected. */
async function waitForClient(raw: ServerResponse, signal: AbortSignal): Promise<void> {
  const disconnect = (): void => void raw.destroy();
  const limit = setTimeout(disconnect, SLOW_CLIENT_MS);
  signal.addEventListener('abort', disconnect, { once: true });
  await waitForDrain(raw);
  clearTimeout(limit);
  signal.removeEventListener('abort', disconnect);
}
