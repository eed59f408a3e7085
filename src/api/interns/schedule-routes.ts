import { Type } from 'typebox';
import { scheduledRunStatuses } from '../../domain/intern-schedule.ts';
import { routesOf } from '../../http/define-route.ts';
import { checkCreateSchedule, checkUpdateSchedule } from '../../management/interns/schedules/schema.ts';
import { named } from '../../openapi/schema-writer.ts';
import { flag, text, textOrNull, time } from '../../openapi/shapes.ts';
import { nullable, oneOf } from '../../schema/shapes.ts';
import { type InternRouteSettings, internApi } from './api.ts';
import type { createScheduleHandlers } from './schedule-handlers.ts';

export interface ScheduleRouteParts extends ReturnType<typeof createScheduleHandlers>, InternRouteSettings {}

const route = routesOf<ScheduleRouteParts>({ ...internApi, lacks: [503] }); // it is a 502 here

const fields = {
  id: text,
  kind: oneOf('cron', 'webhook'),
  cron: textOrNull,
  time_zone: textOrNull,
  input: text,
  paused: flag,
  next_due_at: nullable(time),
  last_run: nullable(
    Type.Object({
      id: text,
      status: oneOf(...scheduledRunStatuses),
      due_at: time,
      started_at: nullable(time),
      ended_at: nullable(time),
      failure: textOrNull,
    }),
  ),
  created_at: time,
  updated_at: time,
};
/** @see docs/reference/intern-schedules.md */
const schedule = named('InternSchedule', Type.Object(fields));
const created = named(
  'CreatedInternSchedule',
  Type.Object({ ...fields, token: Type.Optional(text), path: Type.Optional(text) }),
);

/** Schedules and webhooks of interns. @see docs/reference/intern-schedules.md */
export const scheduleRoutes = [
  route('GET', '/:intern_id/schedules', {
    id: 'listSchedules',
    summary: 'List the schedules of an intern',
    response: { description: 'The oldest first.', schema: Type.Object({ data: Type.Array(schedule) }) },
    statuses: [502],
    takesInterns: true,
    open: ({ listSchedules }) => listSchedules,
  }),
  route('POST', '/:intern_id/schedules', {
    id: 'createSchedule',
    summary: 'Create a schedule or a webhook',
    body: {
      check: checkCreateSchedule,
      example: { kind: 'cron', cron: '0 9 * * 1-5', time_zone: 'Europe/Berlin', input: 'Write the report.' },
    },
    response: {
      status: 201,
      description: 'The schedule. Only this response has the token of a webhook.',
      schema: created,
    },
    statuses: [409, 415, 502],
    open: ({ createSchedule }) => createSchedule,
  }),
  route('GET', '/:intern_id/schedules/:schedule_id', {
    id: 'findSchedule',
    summary: 'Find a schedule',
    response: { description: 'The schedule.', schema: schedule },
    statuses: [502],
    takesInterns: true,
    open: ({ findSchedule }) => findSchedule,
  }),
  route('PATCH', '/:intern_id/schedules/:schedule_id', {
    id: 'updateSchedule',
    summary: 'Change, pause or resume a schedule',
    body: { check: checkUpdateSchedule, example: { paused: true } },
    response: { description: 'The schedule.', schema: schedule },
    statuses: [415, 502],
    open: ({ updateSchedule }) => updateSchedule,
  }),
  route('DELETE', '/:intern_id/schedules/:schedule_id', {
    id: 'deleteSchedule',
    summary: 'Delete a schedule',
    response: { description: 'It is deleted.', schema: Type.Object({ deleted: Type.Literal(true) }) },
    statuses: [502],
    bodyIsOptional: true,
    open: ({ deleteSchedule }) => deleteSchedule,
  }),
  route('POST', '/:intern_id/webhooks/:token', {
    id: 'callWebhook',
    summary: 'Call a webhook',
    description: 'The token in the path is the permission. The body is text of any content type.',
    body: { schema: Type.String({ maxLength: 65_536 }), type: 'text/plain', isOptional: true },
    response: {
      status: 202,
      description: 'The run waits for the intern.',
      schema: Type.Object({ run_id: text, status: Type.Literal('pending') }),
    },
    statuses: [400, 403, 404, 408, 409, 413, 429, 500, 502],
    permission: 'none',
    readsBody: true,
    open: ({ callWebhook }) => callWebhook,
  }),
];
