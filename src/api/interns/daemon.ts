import type { TextSigner } from '../../access/sign-text.ts';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import type { GatewayError } from '../../domain/errors.ts';
import { type Intern, isBelowDomain } from '../../domain/intern.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import { RevealLimit } from './reveal-limit.ts';
import { type ManagementHandler, pathParam } from '../management/route.ts';
import { createChatError } from './chat-failure.ts';
import type { OwnerForwarder } from './forward-to-owner.ts';

export interface DaemonApiParts {
  /** Finds an intern that the caller sees. @throws {GatewayError} `not_found` */
  getIntern: (caller: Caller, internId: string) => Promise<Intern>;
  findLive: (internId: string) => LiveIntern | undefined;
  owners: OwnerForwarder;
  sign: TextSigner;
  /** The domain of host names of interns. */
  domain: () => string | undefined;
  /** Records that a caller has read the token of an intern. */
  audit: (caller: Caller, intern: Intern) => Promise<void>;
  now: () => number;
}

/**
 * The token of the host name of an intern. It changes with every start of its runtime. choice 682
 *
 * @returns undefined if the intern is not running
 */
export const writeDaemonToken = (sign: TextSigner, intern: Intern): string | undefined =>
  intern.status === 'running' && intern.runtimeAddress !== null
    ? sign('intern-daemon', `${intern.id} ${intern.runtimeAddress}`)
    : undefined;

/** `GET /interns/{internId}/daemon`, and its other name. @see docs/reference/intern-chat.md#host-names */
export function createDaemonHandlers(
  parts: DaemonApiParts,
): Record<'showDaemon' | 'showDaemonAccess', ManagementHandler> {
  const limit = new RevealLimit(parts.now);
  const show: ManagementHandler = async (request, reply) => {
    const caller = request.caller!;
    const intern = await parts.getIntern(caller, pathParam(request, 'intern_id'));
    const live = findReachable(parts, intern);
    if (!live) {
      // Its owner knows whether the agent can be reached.
      await parts.owners.forward(intern, { request: request.raw, response: reply.raw }).catch((cause: GatewayError) => {
        throw createUnreachableError(cause.message, cause);
      });
      return reply.hijack();
    }
    const waitMs = limit.take(caller.keyHash);
    if (waitMs > 0) {
      reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
      throw createChatError('rate_limited', 'A caller can read the access to interns 10 times per minute.');
    }
    await parts.audit(caller, intern);
    reply.header('cache-control', 'no-store');
    return {
      origin: `${request.protocol}://${intern.hostname}${readPort(request)}`,
      token: writeDaemonToken(parts.sign, intern),
    };
  };
  return { showDaemon: show, showDaemonAccess: show };
}

/**
 * @returns undefined if another process runs the intern
 * @throws {GatewayError} if its host name does not work
 */
function findReachable({ findLive, domain }: DaemonApiParts, intern: Intern): LiveIntern | undefined {
  const { id, status, hostname, runtimeAddress } = intern;
  if (status !== 'running') {
    throw createChatError('intern_not_running', `The intern is ${status}. Its host name works while it is running.`);
  }
  if (hostname === null || !isBelowDomain(hostname, domain() ?? '')) {
    const text =
      'The host name of the intern is not in interns.domain any more. Suspend and provision it to get another.';
    throw createChatError('intern_needs_restart', text);
  }
  const live = findLive(id);
  if (runtimeAddress === null || live?.running.isReady === false) {
    throw createUnreachableError('The agent of the intern is being started again. Try again later.');
  }
  return live;
}

const createUnreachableError = (text: string, cause?: unknown): GatewayError =>
  createChatError('intern_unreachable', text, { kind: 'conflict', cause });

/** The port that the client used for this request. */
function readPort({ headers }: FastifyRequest): string {
  return /:\d+$/.exec(headers.host ?? '')?.[0] ?? '';
}
