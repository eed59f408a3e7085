import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Tags } from '../../domain/tags.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import type { ChatRequest } from '../../management/interns/chat-bodies.ts';
import { createChatError, readRunError } from './chat-failure.ts';
import { ChatStream } from './chat-stream.ts';

export interface ChatTimes {
  keepAliveMs: number;
  /** Longest stream of one request. */
  streamMs: number;
  /** Longest run of the chat API, and of `invoke`. */
  runMs: number;
  invokeMs: number;
  /** Time for an agent to accept an invocation. */
  acceptMs: number;
}

/** @see docs/reference/intern-chat.md */
export const chatTimes: ChatTimes = {
  keepAliveMs: 30_000,
  streamMs: 300_000,
  runMs: 3_600_000,
  invokeMs: 3_600_000,
  acceptMs: 60_000,
};

/** The response to a message that a run in progress has taken. */
export interface SteeredReply {
  session_id: string;
  status: 'steered';
}

/** Where a reply is written. */
export interface ChatTarget {
  raw: ServerResponse;
  /** Those of the request, for the model calls of a run that it starts. Absent: none. */
  tags?: Tags | undefined;
  headers: Record<string, string>;
  times: ChatTimes;
}

/**
 * Serves a request of the chat API for a running intern. Writes the stream.
 *
 * @returns the body of a 202 if a run in progress has taken the message; undefined: the stream has ended
 * @throws {GatewayError} if the stream has not begun
 */
export async function serveChat(
  { runs }: LiveIntern,
  wanted: ChatRequest,
  { raw, headers, tags, times }: ChatTarget,
): Promise<SteeredReply | undefined> {
  if (wanted.kind === 'message' && runs.isBusy) {
    const { sessionId, text } = wanted;
    const isTaken = await runs.steer(sessionId, text).catch((error: unknown) => Promise.reject(readRunError(error)));
    if (isTaken) return { session_id: sessionId!, status: 'steered' }; // a run has a session
  }
  const sessionId = wanted.sessionId ?? randomUUID();
  const done = Promise.withResolvers<void>();
  let detach: (() => void) | undefined;
  const stream = new ChatStream(raw, {
    headers,
    sessionId,
    keepAliveMs: times.keepAliveMs,
    onOverflow: () => void raw.destroy(),
  });
  const reader = {
    event: (event: Parameters<ChatStream['write']>[0]) => void (stream.write(event) && done.resolve()),
    failed(error: unknown) {
      if (!stream.begun) return done.reject(readRunError(error));
      stream.fail(readRunError(error));
      done.resolve();
    },
  };
  const timer = setTimeout(() => {
    stream.fail(createChatError('timeout', `The reply took longer than ${times.streamMs / 1000} s.`));
    done.resolve();
    detach?.();
  }, times.streamMs);
  const onClose = (): void => {
    done.resolve();
    detach?.();
  };
  raw.once('close', onClose);
  done.promise.catch(() => {}); // awaited below
  try {
    if (wanted.kind === 'message') {
      const { text: input, mode } = wanted;
      detach = runs.start({ sessionId, input, mode, tags, deadlineMs: times.runMs, reader }).detach;
    } else detach = (await runs.answer(wanted.interactionId, sessionId, wanted.text, reader)).detach;
    if (raw.destroyed) onClose();
    await done.promise;
    return undefined;
  } catch (error) {
    throw readRunError(error);
  } finally {
    stream.abandon();
    clearTimeout(timer);
    raw.off('close', onClose);
  }
}
