import { Type } from 'typebox';
import { characterCount, oneOf } from '../../../schema/shapes.ts';
import { type CheckedBody, createBodyCheck, strictBody } from '../../check-body.ts';
import { explainCron, isTimeZone, MAX_CRON } from './due-time.ts';

/** Characters of the text of a run. */
export const MAX_RUN_INPUT = 32_000;

const input = Type.Refine(
  Type.String({ documented: { maxLength: MAX_RUN_INPUT } }),
  (text) => text.isWellFormed() && characterCount(text) <= MAX_RUN_INPUT,
  () => `must be a text of at most ${MAX_RUN_INPUT} characters, without half surrogate pairs`,
);
const cron = Type.Refine(
  Type.String({ maxLength: MAX_CRON }),
  (text) => explainCron(text) === undefined,
  (text) => explainCron(text)!,
);
const timeZone = Type.Refine(
  Type.String({ minLength: 1, maxLength: 100 }),
  isTimeZone,
  () => 'must be a time zone, such as `Europe/Berlin`',
);

const createSchedule = strictBody({
  kind: oneOf('cron', 'webhook'),
  cron: Type.Optional(cron),
  time_zone: Type.Optional(timeZone),
  input: Type.Optional(input),
  paused: Type.Optional(Type.Boolean()),
});
const updateSchedule = strictBody({
  cron: Type.Optional(cron),
  time_zone: Type.Optional(timeZone),
  input: Type.Optional(input),
  paused: Type.Optional(Type.Boolean()),
});

export type CreateScheduleBody = CheckedBody<typeof createSchedule>;
export type UpdateScheduleBody = CheckedBody<typeof updateSchedule>;
export const checkCreateSchedule = createBodyCheck(createSchedule);
export const checkUpdateSchedule = createBodyCheck(updateSchedule);
