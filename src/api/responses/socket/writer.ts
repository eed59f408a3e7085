import type { ResponseEvent } from '../../../domain/events.ts';
import type { ResponseObject } from '../../../domain/response.ts';
import type { EventFormat, EventWriter } from '../../../http/sse.ts';

/** Precedes and follows the JSON of an event in the body that becomes messages. */
export const lines = { before: '', after: '\n' };

/** The response that a WebSocket continues, and where its successor is noted. */
export interface SocketTurn {
  /** Undefined: the response begins a conversation. */
  readonly previousResponseId: string | undefined;
  /** Called with the response if the next request can continue it. */
  keep(response: ResponseObject): void;
}

/** Writes the events of a response as messages of a WebSocket. */
export class SocketWriter implements EventFormat {
  readonly end = '';
  readonly keepAlive = '';
  private readonly writer: EventWriter;
  private readonly turn: SocketTurn;

  constructor(writer: EventWriter, turn: SocketTurn) {
    this.writer = writer;
    this.turn = turn;
  }

  write(event: ResponseEvent): string {
    if (event.type === 'error') return ''; // `response.failed` follows. Clients take both for the end of a response.
    const { response } = event as { response?: ResponseObject };
    if (!response) return this.writer.write(event);
    if (event.type === 'response.completed' || event.type === 'response.incomplete') this.turn.keep(response);
    const { previousResponseId } = this.turn;
    if (previousResponseId === undefined) return this.writer.write(event);
    return this.writer.write({
      ...event,
      response: { ...response, previous_response_id: previousResponseId },
    } as unknown as ResponseEvent); // the type of other responses has null
  }
}
