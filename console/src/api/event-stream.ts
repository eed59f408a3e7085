/** An event of a stream, as far as the console needs it. Without data, it only has a new id. */
export interface StreamEvent {
  id: string | undefined;
  data: string | undefined;
}

/** Longest line that is kept. The gateway writes shorter ones. */
const MAX_LINE = 4_000_000;

/**
 * Reads server-sent events from pieces of text.
 *
 * @returns a function that takes the next piece, and returns the events that it completes. Comments complete an event
 *   without data, so that callers see that the connection works
 */
export function createEventReader(): (piece: string) => StreamEvent[] {
  let rest = '';
  let id: string | undefined;
  let data: string[] = [];

  return function read(piece) {
    rest += piece;
    const events: StreamEvent[] = [];
    for (;;) {
      const end = rest.search(/\r\n|\n|\r(?!$)/);
      if (end === -1) break;
      const line = rest.slice(0, end);
      rest = rest.slice(end + (rest.startsWith('\r\n', end) ? 2 : 1));
      if (line === '') {
        events.push({ id, data: data.length > 0 ? data.join('\n') : undefined });
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
      else if (line.startsWith('id:')) id = line.slice(3).replace(/^ /, '');
    }
    if (rest.length > MAX_LINE) throw new Error('An event of the live list is too long.');
    return events;
  };
}
