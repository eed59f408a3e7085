import type { TextSigner } from '../../access/sign-text.ts';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import type { Intern } from '../../domain/intern.ts';
import { RevealLimit } from './reveal-limit.ts';
import { type ManagementHandler, pathParam } from '../management/route-handler.ts';
import { createChatError } from './chat-failure.ts';

export interface DaemonApiParts {
  /** Finds an intern that the caller sees. @throws {GatewayError} `not_found` */
  getIntern: (caller: Caller, internId: string) => Promise<Intern>;
  sign: TextSigner;
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
    const waitMs = limit.take(caller.keyHash);
    if (waitMs > 0) {
      reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
      throw createChatError('rate_limited', 'A caller can read the access to interns 10 times per minute.');
    }
    const token = writeDaemonToken(parts.sign, intern);
    if (token === undefined || intern.hostname === null) {
      throw createChatError(
        'intern_not_running',
        `The intern is ${intern.status}. Its host name works while it is running.`,
      );
    }
    await parts.audit(caller, intern);
    reply.header('cache-control', 'no-store');
    return { origin: `${request.protocol}://${intern.hostname}${readPort(request)}`, token };
  };
  return { showDaemon: show, showDaemonAccess: show };
}

/** The port that the client used for this request. */
function readPort({ headers }: FastifyRequest): string {
  return /:\d+$/.exec(headers.host ?? '')?.[0] ?? '';
}
