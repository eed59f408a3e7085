import type { IncomingMessage } from 'node:http';

/**
 * Reads a response as text. It returns everything that has arrived before the connection ended; the iterator of the response
 * drops what it has not read by then.
 *
 * @throws the error of a connection that ended too early
 */
export function readAgentPieces(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding('utf8');
  let wake = (): void => {};
  for (const name of ['readable', 'end', 'error', 'close']) response.on(name, () => wake());
  return (async function* () {
    try {
      for (;;) {
        const piece = response.read() as string | null; // it has an encoding
        if (piece !== null) yield piece;
        else if (response.readableEnded) return;
        else if (response.destroyed) throw response.errored ?? new Error('The connection was closed.');
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      response.destroy();
    }
  })();
}
