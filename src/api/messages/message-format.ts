import type { ResponseEvent } from '../../domain/events.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { type EventFormat, quoteDelta } from '../../http/sse.ts';
import { MessageEvents, type MessageFacts } from './message-events.ts';
import { MessageFold } from './message-fold.ts';
import { replayResponse } from './replay-response.ts';
import type { MessageEvent, FoldedMessage } from './wire.ts';

/** Writes the events of a run as server-sent events of the Messages API. Each has its type as its name, too. */
export class MessageFormat implements EventFormat {
  readonly end = '';
  readonly keepAlive = 'event: ping\ndata: {"type": "ping"}\n\n';
  private readonly events: MessageEvents;
  private index = -1;
  private prefix = '';

  constructor(facts: MessageFacts) {
    this.events = new MessageEvents(facts);
  }

  write(event: ResponseEvent): string {
    let text = '';
    for (const each of this.events.take(event)) text += this.writeEvent(each);
    return text;
  }

  private writeEvent(event: MessageEvent): string {
    if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') {
      return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    }
    const { index, delta } = event;
    if (index !== this.index) {
      this.index = index;
      this.prefix = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":`;
    }
    return `${this.prefix}${quoteDelta(delta.text)}}}\n\n`;
  }
}

/** Writes a complete response as a message: its events, folded. */
export function foldMessage(response: ResponseObject, facts: MessageFacts): FoldedMessage {
  const events = new MessageEvents(facts);
  const fold = new MessageFold();
  for (const event of replayResponse(response)) for (const each of events.take(event)) fold.add(each);
  return fold.folded;
}
