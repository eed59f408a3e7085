import type { IncomingMessage, ServerResponse } from 'node:http';
import { createChatError, describeChatFailure } from './chat-failure.ts';

const END = '\n\n';
const DONE = 'data: [DONE]';
/** Longest part of a chunk that waits for its end. A chunk has at most one event of an agent, in JSON twice. */
const MAX_WAITING = 16 * 1024 * 1024;

/**
 * Passes a stream of chunks of another process on, in whole chunks. If that process ends, or sends nothing for `silenceMs`,
 * the client gets the error `stream_severed`, the final chunk and `[DONE]`, as after every error.
 */
export async function relayChatStream(
  incoming: IncomingMessage,
  response: ServerResponse,
  silenceMs: number,
): Promise<void> {
  let [last, isDone, waits] = ['', false, 0];
  /** The begun chunk, in pieces. They are joined once: a long chunk has many. */
  let begun: string[] = [];
  let isDraining = false;
  const timer = setTimeout(() => {
    if (isDraining) timer.refresh();
    else incoming.destroy();
  }, silenceMs);
  incoming.setEncoding('utf8');
  try {
    for await (const piece of incoming as AsyncIterable<string>) {
      timer.refresh();
      const before = begun.at(-1)?.at(-1) ?? '';
      begun.push(piece);
      waits += piece.length;
      if (!`${before}${piece}`.includes(END)) {
        if (waits > MAX_WAITING) throw new Error('A chunk is too long.');
        continue;
      }
      const text = begun.join('');
      const end = text.lastIndexOf(END) + END.length;
      const whole = text.slice(0, end);
      begun = [text.slice(end)];
      waits = text.length - end;
      const frames = whole.split(END);
      last = frames.findLast((frame) => frame.startsWith('data: {')) ?? last;
      isDone ||= frames.includes(DONE);
      if (response.destroyed) return;
      isDraining = !response.write(whole);
      if (isDraining) await awaitDrain(response);
      isDraining = false;
      timer.refresh();
    }
  } catch {
    // reported below
  } finally {
    clearTimeout(timer);
  }
  if (response.destroyed) return;
  if (!isDone) response.write(writeSevered(last));
  response.end();
}

/** Waits until the client has read, or has disconnected. A stream waits often, so nothing of a wait may remain. */
const awaitDrain = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });

/** Writes the end of a stream, with the fields that all its chunks share. */
function writeSevered(frame: string): string {
  const { id, object, created, model } = JSON.parse(frame.slice('data: '.length) || '{}');
  const shared = { id, object, created, model };
  const error = createChatError(
    'stream_severed',
    'The process of the gateway that runs the intern has ended, or does not respond.',
  );
  const choices = [{ index: 0, delta: {}, finish_reason: 'error' }];
  const chunks = [
    { ...shared, choices, error: describeChatFailure(error) },
    { ...shared, choices: [], session_id: null, usage: null },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}${END}`).join('')}${DONE}${END}`;
}
