import { GatewayError } from '../../domain/errors.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { Sink } from '../../domain/sink.ts';

/** Whether only `[DONE]` follows the event. It contains the whole response object. */
export function isTerminal(event: ResponseEvent): event is ResponseEvent & { response: ResponseObject } {
  const { type } = event;
  return type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed';
}

/** Folds a stream into the response object. A buffered response is the same stream, folded. */
export class EventFold implements Sink<ResponseEvent> {
  private folded: ResponseObject | undefined;

  write(events: ResponseEvent[]): undefined {
    const last = events.at(-1);
    if (last && isTerminal(last)) this.folded = last.response;
  }

  /** @throws {GatewayError} `internal` if there was no terminal event */
  get response(): ResponseObject {
    if (!this.folded) throw new GatewayError('internal', 'The run ended without a terminal event.');
    return this.folded;
  }
}
