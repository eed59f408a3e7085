import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import type { DeltaEvent, ResponseEvent } from '../domain/events.ts';
import { isTerminal } from '../pipeline/fold-events.ts';

const KEEP_ALIVE = ': ROUTER PROCESSING\n\n';
const DONE = 'data: [DONE]\n\n';

/**
 * Writes events as server-sent events. Deltas come by the hundred and have a fixed shape: all but the number and the
 * text is the same from one to the next, so only these two are written anew.
 */
export function createEventWriter(): (events: readonly ResponseEvent[]) => string {
  let type = '';
  let itemId = '';
  let item = -1; // providers have been seen that give two items one id
  let place = -1;
  let prefix = '';
  let middle = '';

  function writeDelta(event: DeltaEvent): string {
    const part = event.content_index ?? event.summary_index ?? -1;
    if (event.type !== type || event.item_id !== itemId || event.output_index !== item || part !== place) {
      type = event.type;
      itemId = event.item_id;
      item = event.output_index;
      place = part;
      const { type: _type, sequence_number: _number, delta: _delta, logprobs: _logprobs, ...rest } = event;
      prefix = `data: {"type":"${type}","sequence_number":`;
      middle = `,${JSON.stringify(rest).slice(1, -1)},"delta":`;
    }
    const logprobs = event.logprobs;
    const end = logprobs === undefined ? '}\n\n' : logprobs.length === 0 ? ',"logprobs":[]}\n\n' : undefined;
    return (
      prefix +
      event.sequence_number +
      middle +
      JSON.stringify(event.delta) +
      (end ?? `,"logprobs":${JSON.stringify(logprobs)}}\n\n`)
    );
  }

  return (events) => {
    let text = '';
    for (const event of events) {
      text += isDelta(event) ? writeDelta(event) : `data: ${JSON.stringify(event)}\n\n`;
    }
    return text;
  };
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
  /** The events that tell of a failure once the status is spent. */
  tellFailure: (error: unknown) => ResponseEvent[];
}

/**
 * Sends a run's events. The answer begins with the first of them, so that every earlier failure keeps its status, or
 * after `keepAliveMs` of silence. A client that reads slowly slows the provider down: nothing is read ahead.
 *
 * @throws whatever the run throws before the answer has begun; nothing after that
 */
export async function sendEventStream(
  raw: ServerResponse,
  batches: AsyncGenerator<ResponseEvent[]>,
  { headers, keepAliveMs, tellFailure }: EventStreamOptions,
): Promise<void> {
  const write = createEventWriter();
  let lastWriteAt = performance.now();
  let timer: NodeJS.Timeout | undefined;

  const begin = (): void => {
    if (!raw.headersSent) raw.writeHead(200, headers);
  };
  const send = (text: string): boolean => {
    begin();
    lastWriteAt = performance.now();
    return raw.write(text);
  };
  const keepAlive = (): void => {
    const left = keepAliveMs - (performance.now() - lastWriteAt);
    if (left <= 1 && !raw.writableNeedDrain && !raw.destroyed) send(KEEP_ALIVE);
    timer = setTimeout(keepAlive, left > 1 ? left : keepAliveMs);
  };
  if (keepAliveMs > 0) timer = setTimeout(keepAlive, keepAliveMs);

  try {
    for await (const events of batches) {
      const last = events.at(-1);
      const isLast = last !== undefined && isTerminal(last);
      if (!send(isLast ? write(events) + DONE : write(events))) await drained(raw);
    }
  } catch (error) {
    if (!raw.headersSent) throw error;
    const events = tellFailure(error);
    if (events.length > 0) raw.write(write(events) + DONE);
  } finally {
    clearTimeout(timer);
  }
  raw.end();
}

/** Resolves when the client has taken what was written, or is gone. */
function drained(raw: ServerResponse): Promise<void> {
  if (raw.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const go = (): void => {
      raw.off('drain', go);
      raw.off('close', go);
      resolve();
    };
    raw.on('drain', go);
    raw.on('close', go);
  });
}
