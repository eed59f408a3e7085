import { GatewayError } from '../../../domain/errors.ts';
import type { InternSchedule, ScheduledRun } from '../../../domain/intern-schedule.ts';
import { callStore } from '../../../platform/storage/call-store.ts';
import { getIntern, type InternCaller } from '../find-intern.ts';
import type { ScheduleParts } from './parts.ts';

export interface ScheduleWithRun {
  schedule: InternSchedule;
  lastRun: ScheduledRun | undefined;
}

/** @throws {GatewayError} `not_found` */
export async function getSchedule(
  { schedules }: Pick<ScheduleParts, 'schedules'>,
  internId: string,
  scheduleId: string,
): Promise<InternSchedule> {
  const found = await callStore(() => schedules.findSchedule(scheduleId));
  if (found?.internId === internId) return found;
  throw new GatewayError('not_found', 'The intern has no schedule with this id.');
}

/** Finds a schedule of an intern that the caller sees. @throws {GatewayError} `not_found` */
export async function showSchedule(
  parts: Pick<ScheduleParts, 'interns' | 'schedules'>,
  caller: InternCaller,
  { internId, scheduleId }: { internId: string; scheduleId: string },
): Promise<ScheduleWithRun> {
  await getIntern(parts, caller, internId);
  return withLastRun(parts, await getSchedule(parts, internId, scheduleId));
}

/** Lists the schedules of an intern that the caller sees, the oldest first. @throws {GatewayError} `not_found` */
export async function listInternSchedules(
  parts: Pick<ScheduleParts, 'interns' | 'schedules'>,
  caller: InternCaller,
  internId: string,
): Promise<ScheduleWithRun[]> {
  await getIntern(parts, caller, internId);
  const found = await callStore(() => parts.schedules.listSchedules(internId));
  const all: ScheduleWithRun[] = [];
  for (const schedule of found) all.push(await withLastRun(parts, schedule));
  return all;
}

/** Adds the last run of a schedule. */
export const withLastRun = async (
  { schedules }: Pick<ScheduleParts, 'schedules'>,
  schedule: InternSchedule,
): Promise<ScheduleWithRun> => ({
  schedule,
  lastRun: await callStore(() => schedules.findLastRun(schedule.id)),
});
