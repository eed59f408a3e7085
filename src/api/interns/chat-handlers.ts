import type { TextSigner } from '../../access/sign-text.ts';
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { Intern } from '../../domain/intern.ts';
import type { Tags } from '../../domain/tags.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import type { StartedRun } from '../../interns/runtime/runs.ts';
import { checkInvokeBody, readChatRequest } from '../../management/interns/chat-bodies.ts';
import { readTags, TAGS_HEADER } from '../../requests/tags.ts';
import { type AdmitRequest, countRequest } from '../count-request.ts';
import { type ManagementHandler, pathParam } from '../management/route.ts';
import { createChatError, readRunError } from './chat-failure.ts';
import type { OwnerForwarder } from './forward-to-owner.ts';
import { isSame } from './is-same.ts';
import { type ChatTimes, chatTimes, serveChat } from './serve-chat.ts';

export interface ChatApiParts {
  /** Finds an intern that the caller sees. @throws {GatewayError} `not_found` */
  getIntern: (caller: Caller, internId: string) => Promise<Intern>;
  /** @returns undefined if another process runs it, or none */
  findLive: (internId: string) => LiveIntern | undefined;
  owners: OwnerForwarder;
  /** The keys of tags. */
  tagKeys: () => readonly string[];
  /** Counts messages. choice 782 */
  admit: AdmitRequest;
  /** Signs the session ids of `invoke`. */
  sign: TextSigner;
  times?: Partial<ChatTimes>;
}

/** The chat API of interns. */
export function createChatHandlers(parts: ChatApiParts): Record<'chatWithIntern' | 'invokeIntern', ManagementHandler> {
  const times = { ...chatTimes, ...parts.times };

  return {
    async chatWithIntern(request, reply) {
      const intern = await parts.getIntern(request.caller!, pathParam(request, 'intern_id'));
      const wanted = readChatRequest(request.body);
      const tags = readTags(parts.tagKeys(), request.headers[TAGS_HEADER], undefined);
      const live = findRunning(parts, intern);
      if (!live) return forward(parts, intern, { request, reply, isChat: true });
      const steered = await countRequest(parts.admit, request, reply, () => {
        const headers = reply.getHeaders() as Record<string, string>; // those of the edge
        return serveChat(live, wanted, { raw: reply.raw, headers, tags, times });
      });
      if (steered) return reply.code(202).send(steered);
      return reply.hijack();
    },

    async invokeIntern(request, reply) {
      const caller = request.caller!;
      const intern = await parts.getIntern(caller, pathParam(request, 'intern_id'));
      const { input, session_id: given } = checkInvokeBody(request.body);
      const tags = readTags(parts.tagKeys(), request.headers[TAGS_HEADER], undefined);
      const sessions = createSessionIds(parts.sign, caller, intern);
      if (given !== undefined && !sessions.isIssued(given)) {
        throw createChatError('not_found', 'No invocation of this caller has returned this session_id.');
      }
      const live = findRunning(parts, intern);
      if (!live) return forward(parts, intern, { request, reply, isChat: false });
      const sessionId = given ?? sessions.issue();
      reply.code(202);
      const status = await countRequest(parts.admit, request, reply, () =>
        invoke(live, { sessionId, given, input, tags }, times),
      );
      return { session_id: sessionId, status };
    },
  };
}

/** Starts a run without a connection, or adds a message to that of its session. @throws {GatewayError} */
async function invoke(
  { runs }: LiveIntern,
  {
    sessionId,
    given,
    input,
    tags,
  }: { sessionId: string; given: string | undefined; input: string; tags: Tags | undefined },
  times: ChatTimes,
): Promise<'started' | 'steered'> {
  try {
    if (runs.isBusy && (await runs.steer(given, input))) return 'steered';
    const run = {
      sessionId,
      input,
      mode: 'self-drive',
      tags,
      deadlineMs: times.invokeMs,
      reader: ignoredReader,
    } as const;
    await awaitAcceptance(runs.start(run), times.acceptMs);
    return 'started';
  } catch (error) {
    throw readRunError(error);
  }
}

/** @returns undefined if another process runs the intern, or will soon @throws {GatewayError} if it is not running */
function findRunning({ findLive }: ChatApiParts, { id, status, runtimeAddress }: Intern): LiveIntern | undefined {
  if (status === 'running') return runtimeAddress === null ? undefined : findLive(id);
  throw createChatError('intern_not_ready', `The intern is ${status}. Provision it, and wait until it is running.`);
}

async function forward(
  { owners }: ChatApiParts,
  intern: Intern,
  { request, reply, isChat }: { request: FastifyRequest; reply: FastifyReply; isChat: boolean },
): Promise<FastifyReply> {
  await owners.forward(intern, { request: request.raw, response: reply.raw, body: request.rawBody, isChat });
  return reply.hijack();
}

/** Ends a run that its agent does not accept in time. @throws {GatewayError} `request_timeout`; {RunError} */
async function awaitAcceptance({ accepted, detach }: StartedRun, ms: number): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new GatewayError('request_timeout', `The agent did not accept the run within ${ms / 1000} s.`));
    detach();
  }, ms);
  try {
    await Promise.race([accepted, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Drops the events of an invocation. */
const ignoredReader = { event() {}, failed() {} };

/**
 * The session ids of `invoke`, each of which only the caller that got it can use: the second half is a signature of the
 * first for this caller and intern. choice 677
 */
function createSessionIds(sign: TextSigner, { memberId, workspaceId, internId }: Caller, intern: Intern) {
  const holder = internId ?? memberId ?? `organization ${workspaceId}`;
  const prove = (id: string): string => sign('intern-session', `${intern.id} ${holder} ${id}`).slice(0, 32);
  return {
    issue(): string {
      const id = randomUUID().replaceAll('-', '');
      return `${id}${prove(id)}`;
    },
    isIssued(given: string): boolean {
      if (!/^[0-9a-f]{64}$/.test(given)) return false;
      return isSame(given.slice(32), prove(given.slice(0, 32)));
    },
  };
}
