import type { Command } from 'commander';
import type { AddScheduleOptions } from '../intern-schedules.ts';
import type { InternOptions } from '../interns.ts';
import { type CommandParts, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds `headgate interns schedules`. */
export function addScheduleCommands(interns: Command, { terminal, loadForStore, addGroup }: CommandParts): void {
  const load = (options: SourceOptions) => loadForStore(options, ['secrets'], ['interns']);
  const { add: addToGroup } = addGroup(
    interns,
    'schedules',
    'run an intern by cron expressions and webhooks',
    examples,
  );
  const add = (name: string, description: string): Command =>
    addToGroup(name, description)
      .argument('<intern>', 'name or id of the intern')
      .option(...workspaceOption);

  add('list', 'list the schedules of an intern')
    .option('--json', 'print a JSON list')
    .action(async (intern: string, options: SourceOptions & InternOptions & { json?: boolean }) => {
      const { printSchedules } = await import('../intern-schedules.ts');
      await printSchedules(terminal, await load(options), intern, options);
    });
  add('create', 'create a schedule, or a webhook; prints its next time, or its path')
    .option('--cron <expression>', 'minute, hour, day, month and day of the week')
    .option('--time-zone <name>', 'such as Europe/Berlin (UTC)')
    .option('--webhook', 'run the intern when the path of the schedule is called')
    .option('--input <text>', 'message to the intern')
    .action(async (intern: string, options: SourceOptions & AddScheduleOptions) => {
      const { addSchedule } = await import('../intern-schedules.ts');
      await addSchedule(terminal, await load(options), intern, options);
    });
  for (const [name, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    add(name, `${name} a schedule`)
      .argument('<schedule>', 'its id')
      .action(async (intern: string, scheduleId: string, options: SourceOptions & InternOptions) => {
        const { pauseSchedule } = await import('../intern-schedules.ts');
        await pauseSchedule(terminal, await load(options), { intern, scheduleId }, { ...options, paused });
      });
  }
  add('delete', 'delete a schedule')
    .argument('<schedule>', 'its id')
    .action(async (intern: string, scheduleId: string, options: SourceOptions & InternOptions) => {
      const { removeSchedule } = await import('../intern-schedules.ts');
      await removeSchedule(terminal, await load(options), { intern, scheduleId }, options);
    });
}

const examples = `
Examples:
  $ headgate interns schedules create scout --cron '0 9 * * 1-5' --time-zone Europe/Berlin --input 'Write the report.'
  $ headgate interns schedules create scout --webhook --input 'Triage this issue.'
  $ headgate interns schedules list scout`;
