import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';

export interface CallerWatch {
  /** @returns undefined if the key is no longer valid */
  findCaller: (keyHash: string) => Caller | undefined;
  /** Whether the session of the console in which a request was sent is open. True for a request with a key. @throws the store's error */
  isSessionOpen: (request: FastifyRequest) => Promise<boolean>;
}

/** How often the key is checked. */
const KEY_MS = 500;
/** How often the session of the console is read. */
const SESSION_MS = 3_000;

/**
 * Watches the caller of a long response.
 *
 * @param end called when its key is no longer valid or has another workspace, or its session of the console has ended
 * @returns a function that stops
 */
export function watchCaller(request: FastifyRequest, watch: CallerWatch, end: () => void): () => void {
  const { keyHash, workspaceId } = request.caller!;
  const key = setInterval(() => {
    if (watch.findCaller(keyHash)?.workspaceId !== workspaceId) end();
  }, KEY_MS).unref();
  const session = setInterval(async () => {
    // A store that does not respond ends no response.
    if (!(await watch.isSessionOpen(request).catch(() => true))) end();
  }, SESSION_MS).unref();
  return () => {
    clearInterval(key);
    clearInterval(session);
  };
}
