import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../../domain/errors.ts';
import { sseHeaders } from '../../http/sse.ts';
import type { AgentEnd, AgentEvent, AgentInteraction, AgentUsage } from '../../interns/agent/events.ts';
import { createChatError, describeChatFailure } from './chat-failure.ts';

/** The model of chunks before an agent has named one. */
const UNKNOWN_MODEL = 'router/intern';
/** Output that waits for a slow client. More ends the run. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

export interface ChatStreamOptions {
  headers: Record<string, string | number | string[]>;
  sessionId: string;
  keepAliveMs: number;
  /** Called when the client reads too slowly. */
  onOverflow: () => void;
}

/**
 * Writes a run as chunks of chat completions. The status is sent with the first event or the first comment, so that an
 * earlier failure has one of its own.
 */
export class ChatStream {
  private readonly raw: ServerResponse;
  private readonly options: ChatStreamOptions;
  private readonly id = `chatcmpl-${randomUUID()}`;
  private readonly created = Math.floor(Date.now() / 1000);
  private model = UNKNOWN_MODEL;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(raw: ServerResponse, options: ChatStreamOptions) {
    this.raw = raw;
    this.options = options;
    this.keepAlive();
  }

  get begun(): boolean {
    return this.raw.headersSent;
  }

  /** Writes an event. @returns whether it was the last one */
  write(event: AgentEvent): boolean {
    if (this.isOver) return true;
    switch (event.type) {
      case 'text':
        if (event.text !== '') this.choice({ content: event.text });
        return false;
      case 'reasoning':
        if (event.text !== '') this.choice({ reasoning: event.text });
        return false;
      case 'model':
        this.model = event.model;
        return false;
      case 'interaction':
        this.choice({ tool_calls: [writeInteraction(event.interaction)] });
        this.choice({}, 'tool_calls');
        this.end(null);
        return true;
      case 'end':
        this.writeEnd(event);
        return true;
      default:
        return false; // of a newer contract
    }
  }

  /** Ends the stream with an error. */
  fail(error: GatewayError): void {
    if (!this.isOver) this.writeFailure(error, null);
  }

  /** Stops the comments of a stream that has not begun. */
  abandon(): void {
    this.isOver = true;
    clearTimeout(this.timer);
  }

  private writeEnd(end: AgentEnd): void {
    if (end.status === 'completed') {
      this.choice({}, 'stop');
      this.end(writeUsage(end.usage));
      return;
    }
    const error =
      end.status === 'failed'
        ? createChatError('turn_failed', end.error.message, { retryable: end.error.retryable ?? false })
        : createChatError('run_ended', 'The run was cancelled.');
    this.writeFailure(error, writeUsage(end.usage));
  }

  private writeFailure(error: GatewayError, usage: object | null): void {
    this.begin();
    const choices = [{ index: 0, delta: {}, finish_reason: 'error' }];
    this.send({ ...this.chunk(choices), error: describeChatFailure(error) });
    this.end(usage);
  }

  private end(usage: object | null): void {
    this.isOver = true;
    clearTimeout(this.timer);
    this.send({ ...this.chunk([]), session_id: this.options.sessionId, usage });
    this.raw.end('data: [DONE]\n\n');
  }

  private choice(delta: object, finishReason: string | null = null): void {
    this.begin();
    this.send(this.chunk([{ index: 0, delta, finish_reason: finishReason }]));
  }

  private begin(): void {
    if (this.raw.headersSent) return;
    this.raw.writeHead(200, { ...sseHeaders, ...this.options.headers });
    this.send(this.chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]));
  }

  private chunk(choices: readonly object[]): object {
    return { id: this.id, object: 'chat.completion.chunk', created: this.created, model: this.model, choices };
  }

  private send(chunk: object): void {
    this.raw.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (this.raw.writableLength > MAX_WAITING_BYTES) this.options.onOverflow();
    this.keepAlive();
  }

  private keepAlive(): void {
    clearTimeout(this.timer);
    if (this.isOver) return;
    this.timer = setTimeout(() => {
      this.begin();
      this.raw.write(': keepalive\n\n');
      this.keepAlive();
    }, this.options.keepAliveMs).unref();
  }
}

function writeInteraction(interaction: AgentInteraction): object {
  const { id, ...rest } = interaction;
  const call = { name: 'router.provide_input', arguments: JSON.stringify(rest) };
  return { index: 0, id, type: 'function', function: call };
}

const writeUsage = (usage: AgentUsage | undefined): object | null =>
  usage === undefined
    ? null
    : {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.input_tokens + usage.output_tokens,
        cost: usage.cost,
        prompt_tokens_details: { cached_tokens: usage.cached_tokens },
      };
