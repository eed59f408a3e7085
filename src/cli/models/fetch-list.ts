import { Agent, type Dispatcher, request } from 'undici';
import { CommandError, readMessage } from '../terminal.ts';

const FETCH_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_REDIRECTS = 5;

/**
 * Fetches the list.
 *
 * @throws {CommandError} unless the response is a complete 200, in time, from that origin and not too large
 */
export async function fetchText(
  url: URL,
  { fetchMs = FETCH_MS, maxBytes = MAX_BYTES }: { fetchMs?: number; maxBytes?: number },
): Promise<string> {
  const dispatcher = new Agent();
  const signal = AbortSignal.timeout(fetchMs);
  try {
    const { statusCode, body } = await follow(url, dispatcher, signal);
    if (statusCode !== 200) throw new CommandError(`${url.host} responded with ${statusCode}.`);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) throw new CommandError(`The list is larger than ${maxBytes} bytes.`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString('utf8');
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (signal.aborted) {
      throw new CommandError(`${url.host} did not send the list within ${fetchMs / 1000} seconds.`, { cause: error });
    }
    throw new CommandError(`${url.host} cannot be reached: ${readMessage(error)}.`, { cause: error });
  } finally {
    await dispatcher.destroy(); // discards unread data
  }
}

/** Follows redirects within the given origin. */
async function follow(start: URL, dispatcher: Agent, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  let url = start;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'headgate' };
    const response = await request(url, { dispatcher, signal, headers });
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.statusCode) || typeof location !== 'string') return response;
    if (!URL.canParse(location, url)) throw new CommandError(`${url.host} redirects to an invalid address.`);
    const next = new URL(location, url);
    if (next.origin !== start.origin) {
      throw new CommandError(`${url.host} redirects to ${next.host}. To use that host, name it with --from.`);
    }
    await response.body.dump();
    url = next;
  }
  throw new CommandError(`${start.host} redirects more than ${MAX_REDIRECTS} times.`);
}
