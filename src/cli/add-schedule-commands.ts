import type { Command } from 'commander';
import type { CommandParts } from './add-vault-commands.ts';
import type { AddScheduleOptions } from './intern-schedules.ts';
import type { InternOptions } from './interns.ts';

/** Adds `headgate interns schedules`. */
export function addScheduleCommands<Sources>(
  interns: Command,
  { terminal, load, command }: CommandParts<Sources>,
): void {
  const schedules = interns.command('schedules').description('run an intern by cron expressions and webhooks');
  schedules.addHelpText('after', examples);
  const add = (name: string, description: string): Command =>
    command(schedules, name, description, examples)
      .argument('<intern>', 'name or id of the intern')
      .option('--workspace <name>', 'name, slug or id of the workspace (the default one)');

  add('list', 'list the schedules of an intern')
    .option('--json', 'as a JSON list')
    .action(async (intern: string, options: Sources & InternOptions & { json?: boolean }) => {
      const { printSchedules } = await import('./intern-schedules.ts');
      await printSchedules(terminal, load(options), intern, options);
    });
  add('create', 'create a schedule, or a webhook; prints its next time, or its path')
    .option('--cron <expression>', 'minute, hour, day, month and day of the week')
    .option('--time-zone <name>', 'such as Europe/Berlin (UTC)')
    .option('--webhook', 'run when its path is called')
    .option('--input <text>', 'what the intern gets')
    .action(async (intern: string, options: Sources & AddScheduleOptions) => {
      const { addSchedule } = await import('./intern-schedules.ts');
      await addSchedule(terminal, load(options), intern, options);
    });
  for (const [name, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    add(name, `${name} a schedule`)
      .argument('<schedule>', 'its id')
      .action(async (intern: string, scheduleId: string, options: Sources & InternOptions) => {
        const { pauseSchedule } = await import('./intern-schedules.ts');
        await pauseSchedule(terminal, load(options), { intern, scheduleId }, { ...options, paused });
      });
  }
  add('delete', 'delete a schedule')
    .argument('<schedule>', 'its id')
    .action(async (intern: string, scheduleId: string, options: Sources & InternOptions) => {
      const { removeSchedule } = await import('./intern-schedules.ts');
      await removeSchedule(terminal, load(options), { intern, scheduleId }, options);
    });
}

const examples = `
Examples:
  $ headgate interns schedules create scout --cron '0 9 * * 1-5' --time-zone Europe/Berlin --input 'Write the report.'
  $ headgate interns schedules create scout --webhook --input 'Triage this issue.'
  $ headgate interns schedules list scout`;
