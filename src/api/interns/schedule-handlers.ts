import type { FastifyRequest } from 'fastify';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { createSchedule, deleteSchedule, updateSchedule } from '../../management/interns/schedules/change-schedule.ts';
import { listInternSchedules, showSchedule, withLastRun } from '../../management/interns/schedules/find-schedule.ts';
import type { ScheduleParts } from '../../management/interns/schedules/parts.ts';
import { receiveWebhook } from '../../management/interns/schedules/receive-webhook.ts';
import { checkCreateSchedule, checkUpdateSchedule } from '../../management/interns/schedules/schema.ts';
import { writeSchedule } from '../../management/interns/schedules/write-schedule.ts';
import { BodyBudget } from '../../http/body-budget.ts';
import { BodyShare, readBody } from '../../http/read-body.ts';
import { type ManagementHandler, pathParam } from '../management/route.ts';
import { RevealLimit } from './reveal-limit.ts';

type ScheduleHandlerName =
  | 'listSchedules'
  | 'createSchedule'
  | 'findSchedule'
  | 'updateSchedule'
  | 'deleteSchedule'
  | 'callWebhook';

/** Limit of the body of a webhook. */
const WEBHOOK_BYTES = 65_536;
/** Calls of a token in this process. choice 716 */
const CALLS_PER_MINUTE = 60;

/**
 * Schedules and webhooks of interns.
 *
 * @param bodyMs limit of the time in which the body of a webhook arrives, in milliseconds
 * @see docs/reference/intern-schedules.md
 */
export function createScheduleHandlers(
  parts: ScheduleParts,
  bodyMs: number,
): Record<ScheduleHandlerName, ManagementHandler> {
  const calls = new RevealLimit(parts.now, CALLS_PER_MINUTE);
  const internId = (request: FastifyRequest): string => pathParam(request, 'intern_id');
  const place = (request: FastifyRequest) => ({
    internId: internId(request),
    scheduleId: pathParam(request, 'schedule_id'),
  });

  return {
    async listSchedules(request) {
      const all = await listInternSchedules(parts, request.caller!, internId(request));
      return { data: all.map(writeSchedule) };
    },
    async createSchedule(request, reply) {
      const body = checkCreateSchedule(request.body);
      const { schedule, token } = await createSchedule(parts, request.caller!, internId(request), body);
      reply.code(201).header('cache-control', 'no-store');
      const written = writeSchedule({ schedule, lastRun: undefined });
      if (token === undefined) return written;
      return { ...written, token, path: `/api/v1/interns/${schedule.internId}/webhooks/${token}` };
    },
    async findSchedule(request) {
      return writeSchedule(await showSchedule(parts, request.caller!, place(request)));
    },
    async updateSchedule(request) {
      const body = checkUpdateSchedule(request.body);
      return writeSchedule(
        await withLastRun(parts, await updateSchedule(parts, request.caller!, place(request), body)),
      );
    },
    async deleteSchedule(request) {
      await deleteSchedule(parts, request.caller!, place(request));
      return { deleted: true };
    },
    async callWebhook(request, reply) {
      const token = pathParam(request, 'token');
      const waitMs = calls.take(`${internId(request)} ${token.slice(0, 100)}`);
      if (waitMs > 0) {
        throw new GatewayError(
          'rate_limited',
          `A webhook accepts at most ${CALLS_PER_MINUTE} calls per minute. Try again later.`,
          {
            retryAfterSeconds: waitMs / 1000,
          },
        );
      }
      const body = await readText(request, bodyMs);
      const runId = await receiveWebhook(parts, { internId: internId(request), token, body });
      reply.code(202).header('cache-control', 'no-store');
      return { run_id: runId, status: 'pending' };
    },
  };
}

/** Reads a body of any content type as text. @throws {GatewayError} `payload_too_large`, `invalid_request`, `timeout` */
async function readText({ raw }: FastifyRequest, ms: number): Promise<string> {
  const limit = { bytes: WEBHOOK_BYTES, source: 'fixed for webhooks', ms };
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const share = new BodyShare(new BodyBudget(() => WEBHOOK_BYTES)); // bodies of this size are not counted
  readBody(raw, limit, share, (error, body) => (error ? reject(error) : resolve(body!))); // one of them is set
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await promise);
  } catch (cause) {
    if (cause instanceof TypeError) throw invalidRequest([{ path: '', message: 'is not text in UTF-8' }]);
    throw cause;
  }
}
