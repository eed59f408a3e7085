import { GatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { ResponseObject } from '../domain/response.ts';

const terminal = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Is this the event after which nothing but `[DONE]` follows? It carries the whole response object. */
export function isTerminal(event: ResponseEvent): event is ResponseEvent & { response: ResponseObject } {
  return terminal.has(event.type);
}

/**
 * Folds a stream into the response object: a buffered answer is the same stream, folded.
 *
 * @throws {GatewayError} whatever the stream throws, or `internal` when it has no terminal event
 */
export async function foldEvents(events: AsyncIterable<ResponseEvent[]>): Promise<ResponseObject> {
  for await (const batch of events) {
    const last = batch.at(-1);
    if (last && isTerminal(last)) return last.response;
  }
  throw new GatewayError('internal', 'The run ended without a terminal event.');
}
