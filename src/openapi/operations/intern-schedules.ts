import { Type } from 'typebox';
import { scheduledRunStatuses } from '../../domain/intern-schedule.ts';
import { checkCreateSchedule, checkUpdateSchedule } from '../../management/interns/schedules/schema.ts';
import { nullable, oneOf } from '../../schema/shapes.ts';
import { internError } from '../bodies/interns.ts';
import { flag, text, textOrNull, time } from '../bodies/shapes.ts';
import type { Operation, Operations } from '../operation.ts';
import { named } from '../schema-writer.ts';

const operation = (fields: Omit<Operation, 'tag' | 'error' | 'lacks'>): Operation => ({
  tag: 'Interns',
  error: internError,
  lacks: [503], // it is a 502 here
  ...fields,
});

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

/** Schedules and webhooks of interns. */
export const internScheduleOperations: Operations = {
  'GET /api/v1/interns/:intern_id/schedules': operation({
    summary: 'List the schedules of an intern',
    response: { description: 'The oldest first.', schema: Type.Object({ data: Type.Array(schedule) }) },
    statuses: [502],
  }),
  'POST /api/v1/interns/:intern_id/schedules': operation({
    summary: 'Create a schedule or a webhook',
    body: {
      schema: checkCreateSchedule.schema,
      example: { kind: 'cron', cron: '0 9 * * 1-5', time_zone: 'Europe/Berlin', input: 'Write the report.' },
    },
    response: {
      status: 201,
      description: 'The schedule. Only this response has the token of a webhook.',
      schema: created,
    },
    statuses: [409, 415, 502],
  }),
  'GET /api/v1/interns/:intern_id/schedules/:schedule_id': operation({
    summary: 'Find a schedule',
    response: { description: 'The schedule.', schema: schedule },
    statuses: [502],
  }),
  'PATCH /api/v1/interns/:intern_id/schedules/:schedule_id': operation({
    summary: 'Change, pause or resume a schedule',
    body: { schema: checkUpdateSchedule.schema, example: { paused: true } },
    response: { description: 'The schedule.', schema: schedule },
    statuses: [415, 502],
  }),
  'DELETE /api/v1/interns/:intern_id/schedules/:schedule_id': operation({
    summary: 'Delete a schedule',
    response: { description: 'It is deleted.', schema: Type.Object({ deleted: Type.Literal(true) }) },
    statuses: [502],
  }),
  'POST /api/v1/interns/:intern_id/webhooks/:token': operation({
    summary: 'Call a webhook',
    description: 'The token in the path is the permission. The body is text of any content type.',
    body: { schema: Type.String({ maxLength: 65_536 }), type: 'text/plain', isOptional: true },
    response: {
      status: 202,
      description: 'The run waits for the intern.',
      schema: Type.Object({ run_id: text, status: Type.Literal('pending') }),
    },
    statuses: [400, 403, 404, 408, 409, 413, 429, 500, 502],
  }),
};
