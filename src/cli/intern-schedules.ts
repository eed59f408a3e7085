import type { LoadedConfig } from '../config/load.ts';
import { createSchedule, deleteSchedule, updateSchedule } from '../management/interns/schedules/change-schedule.ts';
import { listInternSchedules } from '../management/interns/schedules/find-schedule.ts';
import type { ScheduleParts } from '../management/interns/schedules/parts.ts';
import { checkCreateSchedule, checkUpdateSchedule } from '../management/interns/schedules/schema.ts';
import { writeSchedule } from '../management/interns/schedules/write-schedule.ts';
import { type InternOptions, type OpenedWorkspace, resolveIntern, withInterns } from './interns.ts';
import { drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface AddScheduleOptions extends InternOptions {
  cron?: string;
  timeZone?: string;
  input?: string;
  webhook?: boolean;
}

const createParts = ({ parts, schedules, maxSchedules }: OpenedWorkspace): ScheduleParts => ({
  interns: parts.interns,
  schedules,
  maxPerIntern: () => maxSchedules,
  now: parts.now,
  notify: () => {}, // the gateway polls the store
});

/** Prints the schedules of an intern: as a table, or as a JSON list. */
export const printSchedules = (
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  options: InternOptions & { json?: boolean },
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id } = await resolveIntern(opened, wanted);
    const all = (await listInternSchedules(createParts(opened), opened.caller, id)).map(writeSchedule);
    const { stdout } = terminal;
    if (options.json) return void stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
    if (all.length === 0) {
      return void stdout.write('It has no schedules. "headgate interns schedules create" adds one.\n');
    }
    const columns = ['ID', 'KIND', 'WHEN', 'NEXT', 'LAST RUN'].map((title) => ({ title }));
    const cells = all.map(({ id: scheduleId, kind, cron, time_zone, paused, next_due_at, last_run }) => [
      scheduleId,
      kind,
      cron === null ? '' : `${cron} ${time_zone}`,
      paused ? 'paused' : (next_due_at ?? ''),
      last_run?.status ?? 'none',
    ]);
    stdout.write(drawTable(terminal, columns, cells));
  });

/** Creates a schedule. Prints the path of a webhook, with its token, once. */
export const addSchedule = (
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  { cron, timeZone, input, webhook = false, ...options }: AddScheduleOptions,
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id } = await resolveIntern(opened, wanted);
    const body = checkCreateSchedule({
      kind: webhook ? 'webhook' : 'cron',
      ...(cron !== undefined && { cron }),
      ...(timeZone !== undefined && { time_zone: timeZone }),
      ...(input !== undefined && { input }),
    });
    const { schedule, token } = await createSchedule(createParts(opened), opened.caller, id, body);
    const { stdout, stderr } = terminal;
    stderr.write(`Created ${schedule.id}.\n`);
    if (!config.config.interns.schedules.enabled) stderr.write('Schedules are off: set interns.schedules.enabled.\n');
    if (token === undefined) stdout.write(`${writeSchedule({ schedule, lastRun: undefined }).next_due_at}\n`);
    else stdout.write(`/api/v1/interns/${id}/webhooks/${token}\n`);
  });

/** Pauses or resumes a schedule. */
export const pauseSchedule = (
  terminal: Terminal,
  config: LoadedConfig,
  { intern, scheduleId }: { intern: string; scheduleId: string },
  { paused, ...options }: InternOptions & { paused: boolean },
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id: internId } = await resolveIntern(opened, intern);
    const body = checkUpdateSchedule({ paused });
    await updateSchedule(createParts(opened), opened.caller, { internId, scheduleId }, body);
    terminal.stdout.write(paused ? 'Paused.\n' : 'Resumed.\n');
  });

/** Deletes a schedule. */
export const removeSchedule = (
  terminal: Terminal,
  config: LoadedConfig,
  { intern, scheduleId }: { intern: string; scheduleId: string },
  options: InternOptions,
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id: internId } = await resolveIntern(opened, intern);
    await deleteSchedule(createParts(opened), opened.caller, { internId, scheduleId });
    terminal.stdout.write('Deleted.\n');
  });
