import type { ServerResponse } from 'node:http';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import { type ManagementHandler, pathParam } from '../management/route-handler.ts';
import { readQuery } from '../management/read-query.ts';
import { createChatError } from './chat-failure.ts';
import type { ChatApiParts } from './chat-handlers.ts';

/** Maximum bytes that wait for a slow client. A client with more is disconnected. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** `GET /interns/{internId}/logs`: the log of the agent. With `follow`, new lines as well. @see docs/reference/intern-chat.md#log */
export function createLogHandler(parts: Pick<ChatApiParts, 'getIntern' | 'findLive' | 'owners'>): ManagementHandler {
  return async (request, reply) => {
    const follows = readQuery(request, (query) => query.word('follow', ['true', 'false'])) === 'true';
    const intern = await parts.getIntern(request.caller!, pathParam(request, 'intern_id'));
    const live = parts.findLive(intern.id);
    if (live) {
      if (!follows) return reply.type('text/plain; charset=utf-8').send(live.running.logs.text);
      await follow(live, reply.raw, reply.getHeaders() as Record<string, string>); // set by the server
      return reply.hijack();
    }
    if (intern.status !== 'running') {
      throw createChatError(
        'intern_not_running',
        `The intern is ${intern.status}. Its log is available only while it is running.`,
      );
    }
    await parts.owners.forward(intern, { request: request.raw, response: reply.raw });
    return reply.hijack();
  };
}

async function follow({ running }: LiveIntern, raw: ServerResponse, headers: Record<string, string>): Promise<void> {
  raw.writeHead(200, { ...headers, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  raw.write(running.logs.text);
  const closed = new Promise<void>((resolve) => raw.once('close', resolve));
  const unfollow = running.logs.follow((line) => {
    raw.write(`${line}\n`);
    if (raw.writableLength > MAX_WAITING_BYTES) raw.destroy();
  });
  const end = (): void => void raw.end();
  running.stopped.addEventListener('abort', end, { once: true });
  await closed;
  running.stopped.removeEventListener('abort', end);
  unfollow();
}
