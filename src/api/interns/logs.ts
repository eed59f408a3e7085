import type { ServerResponse } from 'node:http';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import type { Intern } from '../../domain/intern.ts';
import { type ManagementHandler, pathParam } from '../management/route.ts';
import { readQuery } from '../management/read-query.ts';
import { type CallerWatch, watchCaller } from '../management/watch-caller.ts';
import { createChatError } from './chat-failure.ts';
import type { ChatApiParts } from './chat-handlers.ts';

/** Maximum bytes that wait for a slow client. A client with more is disconnected. */
const MAX_WAITING_BYTES = 1024 * 1024;

interface LogParts extends Pick<ChatApiParts, 'getIntern' | 'findLive' | 'owners'>, CallerWatch {
  /** Reads the log of an intern that does not run. @returns undefined if there is none */
  readLog: (intern: Intern) => Promise<string | undefined>;
}

/** `GET /interns/{internId}/logs`: the log of the agent. With `follow`, new lines as well. @see docs/reference/intern-chat.md#log */
export function createLogHandler(parts: LogParts): ManagementHandler {
  return async (request, reply) => {
    const follows = readQuery(request, (query) => query.word('follow', ['true', 'false'])) === 'true';
    const intern = await parts.getIntern(request.caller!, pathParam(request, 'intern_id'));
    const live = parts.findLive(intern.id);
    if (live) {
      if (!follows) return reply.type('text/plain; charset=utf-8').send(live.running.logs.text);
      const unwatch = watchCaller(request, parts, () => void reply.raw.end());
      await follow(live, reply.raw, reply.getHeaders() as Record<string, string>); // set by the server
      unwatch();
      return reply.hijack();
    }
    if (intern.status !== 'running') {
      const saved = await parts.readLog(intern);
      if (saved !== undefined) return reply.type('text/plain; charset=utf-8').send(saved);
      throw createChatError('intern_not_running', `The intern is ${intern.status}, and has no log yet.`);
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
