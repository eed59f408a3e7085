import type { Command } from 'commander';
import { type RateOptions, withRateOptions } from '../rate-options.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import type { CommandParts, SourceOptions } from './command-parts.ts';

/** Adds `headgate members`. */
export function addMemberCommands(program: Command, parts: CommandParts): void {
  const { addGroup, findStore, readConfig, terminal } = parts;
  const { add } = addGroup(program, 'members', 'list members, and limit how often their keys may be used', examples);
  add('list', 'list all members, the oldest first')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { printMembers } = await import('../members.ts');
      await printMembers(terminal, await findStore(options), options);
    });
  add('show', 'print a member')
    .argument(...memberArgument)
    .option(...jsonOption)
    .action(async (id: string, options: SourceOptions & JsonOption) => {
      const { showMember } = await import('../members.ts');
      await showMember(terminal, await findStore(options), id, options);
    });
  withRateOptions(add('update', 'change the rate limits of a member'))
    .argument(...memberArgument)
    .option(...jsonOption)
    .action(async (id: string, options: SourceOptions & RateOptions & JsonOption) => {
      const { changeMember } = await import('../members.ts');
      await changeMember(terminal, await readConfig(options), id, options);
    });
}

const memberArgument = ['<member>', 'its id'] as const;

const examples = `
Examples:
  $ headgate members list
  $ headgate members update ada --requests-per-minute 60 --tokens-per-minute none
  $ headgate workspaces members research --add ada`;
