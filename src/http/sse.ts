import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import type { DeltaEvent, ResponseEvent } from '../domain/events.ts';
import type { Sink } from '../domain/sink.ts';
import { isTerminal } from '../pipeline/events/fold-events.ts';
import { ChunkedBody, LARGE_TEXT } from './chunked-body.ts';

/** A comment, which clients skip. */
export const KEEP_ALIVE = ': ROUTER PROCESSING\n\n';
export const DONE = 'data: [DONE]\n\n';

/** The headers of every event stream. The last two prevent compression and buffering in proxies. */
export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** How an API writes the events of a run. One object serves one response. */
export interface EventFormat {
  /** Writes an event as frames. Empty: the client of this API does not get it. */
  write(event: ResponseEvent): string;
  /** Follows the last event. */
  readonly end: string;
  /** Sent while the provider is silent. Empty: nothing is. */
  readonly keepAlive: string;
  /** The headers of the body. Absent: those of an event stream. */
  readonly headers?: ResponseHeaders;
}

/**
 * Writes events as server-sent events. Consecutive deltas differ only in their number and text, so the rest is cached.
 */
export class EventWriter implements EventFormat {
  readonly end = DONE;
  readonly keepAlive = KEEP_ALIVE;
  private readonly before: string;
  private readonly after: string;
  private type = '';
  private itemId = '';
  private item = -1; // because some providers give two items the same id
  private place = -1;
  private prefix = '';
  private middle = '';

  /** @param frame precedes and follows the JSON of an event. Absent: those of server-sent events */
  constructor({ before, after } = { before: 'data: ', after: '\n\n' }) {
    this.before = before;
    this.after = after;
  }

  write(event: ResponseEvent): string {
    return isDelta(event) ? this.writeDelta(event) : `${this.before}${JSON.stringify(event)}${this.after}`;
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
    const end = logprobs === undefined ? '}' : logprobs.length === 0 ? ',"logprobs":[]}' : undefined;
    return (
      this.prefix +
      event.sequence_number +
      this.middle +
      quoteDelta(event.delta) +
      (end ?? `,"logprobs":${JSON.stringify(logprobs)}}`) +
      this.after
    );
  }

  private learn(event: DeltaEvent, place: number): void {
    const { type, sequence_number: _number, delta: _delta, logprobs: _logprobs, ...rest } = event;
    this.type = type;
    this.itemId = event.item_id;
    this.item = event.output_index;
    this.place = place;
    // `join` makes one flat string. `+` makes a tree, which each event would flatten again.
    this.prefix = [this.before, '{"type":"', type, '","sequence_number":'].join('');
    this.middle = [',', JSON.stringify(rest).slice(1, -1), ',"delta":'].join('');
  }
}

/** Maximum characters of a text that is inspected before it is serialized. Deltas are short. */
const INSPECTED_LENGTH = 32;

/** Serializes a text as `JSON.stringify` does. It needs no escapes in most deltas, which is faster to find out. */
export function quoteDelta(text: string): string {
  if (text.length > INSPECTED_LENGTH) return JSON.stringify(text);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const isPlain = unit >= 0x20 && unit !== 0x22 && unit !== 0x5c && (unit < 0xd800 || unit > 0xdfff);
    if (!isPlain) return JSON.stringify(text);
  }
  return `"${text}"`;
}

export function isDelta(event: ResponseEvent): event is DeltaEvent {
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

/** The headers of a response, by lower-case name. */
export type ResponseHeaders = Record<string, string | number | string[]>;

export interface EventStreamOptions {
  /** Returns the headers besides those of every stream. Called when the response begins. */
  headers: () => ResponseHeaders;
  /** Idle time after which a comment is sent. 0: never. */
  keepAliveMs: number;
}

/**
 * A response of server-sent events. Its headers are sent with the first event, or after `keepAliveMs` without one, so
 * that every earlier failure keeps its status.
 */
export class SseResponse {
  protected readonly raw: ServerResponse;
  private readonly body: ChunkedBody;
  private readonly options: EventStreamOptions;
  private lastWriteAt = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(raw: ServerResponse, options: EventStreamOptions) {
    this.raw = raw;
    this.body = new ChunkedBody(raw);
    this.options = options;
    if (options.keepAliveMs > 0) this.timer = setTimeout(keepAlive, options.keepAliveMs, this);
  }

  /** Whether the status is sent. */
  get begun(): boolean {
    return this.raw.headersSent;
  }

  /** Whether a comment may be sent now. */
  protected mayComment(): boolean {
    return !this.raw.writableNeedDrain && !this.raw.destroyed;
  }

  /** Sent while the provider is silent. */
  protected get idleText(): string {
    return KEEP_ALIVE;
  }

  /** The headers of the body. */
  protected get bodyHeaders(): ResponseHeaders {
    return sseHeaders;
  }

  keepAlive(): void {
    const { keepAliveMs } = this.options;
    const left = keepAliveMs - (performance.now() - this.lastWriteAt);
    if (left <= 1 && this.mayComment()) this.send(this.idleText);
    this.timer = setTimeout(keepAlive, left > 1 ? left : keepAliveMs, this);
  }

  /** Stops the comments after the end of the run. */
  stop(): void {
    clearTimeout(this.timer);
  }

  /** Ends the body after everything that was sent. */
  protected endBody(): void {
    this.body.end();
  }

  /**
   * @param isLast whether nothing follows
   * @returns false if the client must read first
   */
  protected send(text: string, encoding: 'utf8' | 'latin1' = 'utf8', isLast = false): boolean {
    if (!this.raw.headersSent) this.body.begin(200, { ...this.options.headers(), ...this.bodyHeaders });
    this.lastWriteAt = performance.now();
    return this.body.write(text, encoding, isLast);
  }
}

/**
 * Sends the events of a run to the client. A slow client slows the provider down: `write` returns a promise while the
 * buffer is full.
 */
export class EventStream extends SseResponse implements Sink<ResponseEvent> {
  private readonly format: EventFormat;
  /** Events that are written in later turns of the event loop. */
  private later: ResponseEvent[] = [];
  private writing: Promise<void> | undefined;
  private isEnding = false;

  constructor(raw: ServerResponse, options: EventStreamOptions, format: EventFormat = new EventWriter()) {
    super(raw, options);
    this.format = format;
  }

  protected override get idleText(): string {
    return this.format.keepAlive;
  }

  protected override get bodyHeaders(): ResponseHeaders {
    return this.format.headers ?? super.bodyHeaders;
  }

  write(events: ResponseEvent[]): Promise<void> | undefined {
    if (!this.writing) return this.writeNow(events);
    for (const event of events) this.later.push(event);
    return this.writing;
  }

  /**
   * Writes the events up to a large one. The last events of a response repeat all of its text several times, and each of
   * them gets a turn of the event loop of its own.
   */
  private writeNow(events: readonly ResponseEvent[]): Promise<void> | undefined {
    let text = '';
    for (const [at, event] of events.entries()) {
      text += this.format.write(event);
      const isLast = at === events.length - 1;
      if (isLast || text.length < LARGE_TEXT) continue;
      this.send(text);
      this.later = events.slice(at + 1);
      this.writing = this.writeLater();
      return this.writing;
    }
    const last = events.at(-1);
    let isDrained = true;
    if (last && isTerminal(last)) isDrained = this.send(text + this.format.end, 'utf8', true);
    else if (text !== '') isDrained = this.send(text);
    return isDrained ? undefined : waitForDrain(this.raw);
  }

  private async writeLater(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const { later } = this;
    this.later = [];
    this.writing = undefined;
    if (this.raw.destroyed) return;
    const writing = this.writeNow(later);
    if (this.isEnding && !this.writing) this.endBody();
    await writing;
  }

  /** Ends the response after all events. */
  end(): void {
    this.isEnding = true;
    if (!this.writing) this.endBody();
  }
}

const keepAlive = (stream: SseResponse): void => stream.keepAlive();

/**
 * Resolves when a response whose `write` returned false can take more, or its client has disconnected.
 *
 * Node's response hands its writes to the socket in the next tick. It counts the bytes of a text, and its socket the
 * characters, so the response may report that it is full when the socket is not, and then never emits `drain`. The
 * socket is therefore checked as well.
 */
export function waitForDrain(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      clearImmediate(check);
      raw.off('drain', go);
      raw.off('close', go);
      resolve();
    };
    const check = setImmediate(() => {
      if (raw.destroyed || raw.socket?.writableNeedDrain === false) go();
    });
    raw.on('drain', go);
    raw.on('close', go);
  });
}
