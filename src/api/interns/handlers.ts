import type { FastifyRequest } from 'fastify';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import type { Intern, InternStatus } from '../../domain/intern.ts';
import {
  requestDeletion,
  requestProvision,
  suspendIntern,
  updateIntern,
} from '../../management/interns/change-intern.ts';
import { createIntern } from '../../management/interns/create-intern.ts';
import { getIntern, listInterns } from '../../management/interns/find-intern.ts';
import { checkNoFields } from '../../management/interns/no-fields.ts';
import type { InternParts } from '../../management/interns/parts.ts';
import { checkCreateIntern, checkDeleteIntern, checkUpdateIntern } from '../../management/interns/schema.ts';
import { type ManagementHandler, pathParam } from '../management/route.ts';
import { readInternQuery, writeInternCursor } from './read-intern-query.ts';
import type { ShowPresence } from './show-presence.ts';
import { writeIntern } from './write-intern.ts';

type InternHandlerName =
  | 'listInterns'
  | 'createIntern'
  | 'findIntern'
  | 'updateIntern'
  | 'deleteIntern'
  | 'provisionIntern'
  | 'suspendIntern';

export interface InternApiParts extends InternParts {
  /** Milliseconds of one request with its body. Its work can continue afterwards. */
  deadlineMs: number;
  show: ShowPresence;
}

/** The lifecycle of interns. @see docs/reference/interns.md */
export function createInternHandlers(parts: InternApiParts): Record<InternHandlerName, ManagementHandler> {
  const limited =
    (work: (request: FastifyRequest, signal: AbortSignal) => Promise<unknown>, status = 200): ManagementHandler =>
    async (request, reply) => {
      const result = await limitRequest(request, parts.deadlineMs, (signal) => work(request, signal));
      reply.code(status);
      return result;
    };
  const write = async (intern: Intern) => {
    const [shown] = await parts.show([intern]);
    return writeIntern(shown!); // one for each
  };
  const internId = (request: FastifyRequest): string => pathParam(request, 'intern_id');
  const rejectFields = ({ body }: FastifyRequest): void => {
    if (body !== undefined) checkNoFields(body);
  };

  return {
    listInterns: limited(async (request) => {
      const { limit, after, statuses } = readInternQuery(request);
      const page = { limit, after, statuses: statuses && withRows(statuses) };
      const { interns, hasMore } = await listInterns(parts, request.caller!, page);
      const last = interns.at(-1);
      const shown = await parts.show(interns);
      return {
        data: shown.filter(({ status }) => !statuses || statuses.includes(status)).map(writeIntern),
        has_more: hasMore,
        ...(hasMore && last && { next_cursor: writeInternCursor(last) }),
      };
    }),

    async createIntern(request, reply) {
      const body = checkCreateIntern(request.body);
      const key = readIdempotencyKey(request);
      const { intern, isReplay } = await limitRequest(request, parts.deadlineMs, () =>
        createIntern(parts, request.caller!, { body, key }),
      );
      reply.code(isReplay ? 200 : 201);
      return write(intern);
    },

    findIntern: limited(async (request) => {
      return write(await getIntern(parts, request.caller!, internId(request)));
    }),

    updateIntern: limited(async (request) => {
      return write(await updateIntern(parts, request.caller!, internId(request), checkUpdateIntern(request.body)));
    }),

    deleteIntern: limited(async (request) => {
      const body = checkDeleteIntern(request.body === undefined ? {} : request.body);
      const { acknowledge_workspace_loss: acknowledges = false } = body;
      await requestDeletion(parts, request.caller!, internId(request), acknowledges);
      return { deleting: true };
    }, 202),

    provisionIntern: limited(async (request) => {
      rejectFields(request);
      await requestProvision(parts, request.caller!, internId(request));
      return { provisioning: true };
    }, 202),

    suspendIntern: limited(async (request, signal) => {
      rejectFields(request);
      await suspendIntern(parts, request.caller!, internId(request), signal);
      return { suspended: true };
    }),
  };
}

/** Returns the statuses of the rows that callers can see in one of these. */
const withRows = (statuses: readonly InternStatus[]): readonly InternStatus[] =>
  statuses.includes('provisioning') && !statuses.includes('running') ? [...statuses, 'running'] : statuses;

/** @returns undefined if there is none @throws {GatewayError} `invalid_request` */
function readIdempotencyKey({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length >= 1 && key.length <= 255) return key;
  throw invalidRequest([{ path: 'Idempotency-Key', message: 'The header must have 1 to 255 characters.' }]);
}

/** @throws {GatewayError} `request_timeout` at the deadline; the work continues, unless it uses the signal */
async function limitRequest<Result>(
  { receivedAt }: FastifyRequest,
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => {
      reject(
        new GatewayError('request_timeout', `The request took longer than ${ms / 1000} s. Its work may continue.`),
      );
      deadline.abort();
    },
    receivedAt + ms - performance.now(),
  );
  const working = work(deadline.signal);
  working.catch(() => {}); // after the deadline
  try {
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
  }
}
