import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import type { DeltaEvent, ResponseEvent } from '../domain/events.ts';
import type { Sink } from '../domain/sink.ts';
import { isTerminal } from '../pipeline/events/fold-events.ts';

const KEEP_ALIVE = ': ROUTER PROCESSING\n\n';
export const DONE = 'data: [DONE]\n\n';

/**
 * Characters of events that are written at once. The last events of a response repeat all of its text several times;
 * together they could be longer than the longest string there is.
 */
const LARGE_TEXT = 1024 * 1024;

/** Of every answer of server-sent events; the last one keeps proxies from gathering it. */
export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/**
 * Writes events as server-sent events. Deltas come by the hundred and have a fixed shape: all but the number and the
 * text is the same from one to the next, so only these two are written anew.
 */
export class EventWriter {
  private type = '';
  private itemId = '';
  private item = -1; // providers have been seen that give two items one id
  private place = -1;
  private prefix = '';
  private middle = '';

  write(event: ResponseEvent): string {
    return isDelta(event) ? this.writeDelta(event) : `data: ${JSON.stringify(event)}\n\n`;
  }

  private writeDelta(event: DeltaEvent): string {
    const place = event.content_index ?? event.summary_index ?? -1;
    const isSame =
      event.type === this.type &&
      event.item_id === this.itemId &&
      event.output_index === this.item &&
      place === this.place;
    if (!isSame) this.learn(event, place);
    const logprobs = event.logprobs;
    const end = logprobs === undefined ? '}\n\n' : logprobs.length === 0 ? ',"logprobs":[]}\n\n' : undefined;
    return (
      this.prefix +
      event.sequence_number +
      this.middle +
      JSON.stringify(event.delta) +
      (end ?? `,"logprobs":${JSON.stringify(logprobs)}}\n\n`)
    );
  }

  private learn(event: DeltaEvent, place: number): void {
    const { type, sequence_number: _number, delta: _delta, logprobs: _logprobs, ...rest } = event;
    this.type = type;
    this.itemId = event.item_id;
    this.item = event.output_index;
    this.place = place;
    this.prefix = `data: {"type":"${type}","sequence_number":`;
    this.middle = `,${JSON.stringify(rest).slice(1, -1)},"delta":`;
  }
}

function isDelta(event: ResponseEvent): event is DeltaEvent {
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.function_call_arguments.delta':
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
    case 'response.custom_tool_call_input.delta':
    case 'response.refusal.delta':
      return true;
    default:
      return false;
  }
}

export interface EventStreamOptions {
  headers: Record<string, string | number | string[]>;
  /** Silence after which a comment is sent; 0 = never. */
  keepAliveMs: number;
}

/**
 * An answer of server-sent events: its head goes out with the first of them, so that every earlier failure keeps its
 * status, or after `keepAliveMs` of silence.
 */
export class SseResponse {
  protected readonly raw: ServerResponse;
  private readonly options: EventStreamOptions;
  private lastWriteAt = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(raw: ServerResponse, options: EventStreamOptions) {
    this.raw = raw;
    this.options = options;
    if (options.keepAliveMs > 0) this.timer = setTimeout(keepAlive, options.keepAliveMs, this);
  }

  /** The status is spent. */
  get begun(): boolean {
    return this.raw.headersSent;
  }

  /** May a comment go out now? */
  protected mayComment(): boolean {
    return !this.raw.writableNeedDrain && !this.raw.destroyed;
  }

  keepAlive(): void {
    const { keepAliveMs } = this.options;
    const left = keepAliveMs - (performance.now() - this.lastWriteAt);
    if (left <= 1 && this.mayComment()) this.send(KEEP_ALIVE);
    this.timer = setTimeout(keepAlive, left > 1 ? left : keepAliveMs, this);
  }

  /** No more comments: the run is over, and the answer ended or left to others. */
  stop(): void {
    clearTimeout(this.timer);
  }

  /** @returns false when the client has much to read first */
  protected send(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): boolean {
    if (!this.raw.headersSent) this.raw.writeHead(200, this.options.headers);
    this.lastWriteAt = performance.now();
    // The bytes of a large text stay outside the heap until the client has read them.
    return text.length < LARGE_TEXT ? this.raw.write(text, encoding) : this.raw.write(Buffer.from(text));
  }
}

/**
 * Sends a run's events to the client. A client that reads slowly slows the provider down: `write` gives a promise while
 * much is unread.
 */
export class EventStream extends SseResponse implements Sink<ResponseEvent> {
  private readonly writer = new EventWriter();

  write(events: ResponseEvent[]): Promise<void> | undefined {
    let text = '';
    let isDrained = true;
    for (const event of events) {
      text += this.writer.write(event);
      if (text.length < LARGE_TEXT) continue;
      isDrained = this.send(text);
      text = '';
    }
    const last = events.at(-1);
    if (last && isTerminal(last)) text += DONE;
    if (text !== '') isDrained = this.send(text);
    return isDrained ? undefined : waitForDrain(this.raw);
  }
}

const keepAlive = (stream: SseResponse): void => stream.keepAlive();

/**
 * Resolves when a response whose `write` returned false can take more, or its client has disconnected.
 *
 * Node's response hands its writes to the socket in the next tick. It counts the bytes of a text, and its socket the
 * characters, so the response may report that it is full when the socket is not, and then never emits `drain`.
 */
export function waitForDrain(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      if (raw.destroyed || raw.socket?.writableNeedDrain === false) return resolve();
      const go = (): void => {
        raw.off('drain', go);
        raw.off('close', go);
        resolve();
      };
      raw.on('drain', go);
      raw.on('close', go);
    });
  });
}
