import { ApiError, apiUrl, send } from './client.ts';
import { createEventReader } from './event-stream.ts';
import type { Generation } from './types.ts';

export type FeedState = 'connecting' | 'live' | 'lost';

export interface FeedOptions {
  /** The conditions of the list. */
  query: Record<string, string>;
  /** Earlier requests at the beginning, so that none falls between the first page and the feed. */
  last: number;
  signal: AbortSignal;
  onEntries: (entries: Generation[]) => void;
  onState: (state: FeedState) => void;
}

/** The feed sends a comment every 15 seconds by default. */
const SILENT_MS = 60_000;
const MAX_PAUSE_MS = 15_000;

/** Follows the live list until the signal aborts. After a lost connection it continues where it stopped. */
export async function followFeed({ query, last, signal, onEntries, onState }: FeedOptions): Promise<void> {
  let cursor: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const position: Record<string, string> = cursor === undefined ? { last: String(last) } : { cursor };
      for await (const events of connect({ ...query, ...position }, signal)) {
        failures = 0;
        onState('live');
        cursor = events.at(-1)?.id ?? cursor;
        const entries = events.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data) as Generation]));
        if (entries.length > 0) onEntries(entries);
      }
    } catch (cause) {
      if (signal.aborted) return;
      // A cursor that the gateway no longer accepts cannot become valid.
      if (cause instanceof ApiError && cause.status === 400) cursor = undefined;
    }
    if (signal.aborted) return;
    onState('lost');
    failures++;
    await pause(Math.min(MAX_PAUSE_MS, 500 * 2 ** failures), signal);
  }
}

async function* connect(query: Record<string, string>, signal: AbortSignal) {
  const silence = new AbortController();
  const either = AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENT_MS);
  try {
    const response = await send('GET', apiUrl('/api/v1/generations/live', query), undefined, either);
    const read = createEventReader();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENT_MS);
      const events = read(value);
      if (events.length > 0) yield events;
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
