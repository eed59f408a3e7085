import type { Command } from 'commander';
import type { InternApiOptions } from '../intern-api.ts';
import type { InternChatOptions } from '../intern-chat.ts';
import type { CreateInternOptions, InternOptions } from '../interns.ts';
import { addScheduleCommands } from './add-schedule-commands.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds `headgate interns`. */
export function addInternCommands(program: Command, parts: CommandParts): void {
  const { terminal, loadForStore, addGroup } = parts;
  const load = (options: SourceOptions) => loadForStore(options, ['secrets'], ['interns']);
  const { group, add: addToGroup } = addGroup(
    program,
    'interns',
    'create, start, suspend, resume and delete persistent agents',
    examples,
  );
  const add = (name: string, description: string): Command => addToGroup(name, description).option(...workspaceOption);
  const addWithUrl = (name: string, description: string): Command =>
    addToGroup(name, description)
      .argument(...internArgument)
      .option('--url <url>', 'address of the gateway (the one of the configuration)');

  add('list', 'list the interns of a workspace, the newest first')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & InternOptions & { json?: boolean }) => {
      const { printInterns } = await import('../interns.ts');
      await printInterns(terminal, await load(options), options);
    });
  add('show', 'print an intern')
    .argument(...internArgument)
    .option(...jsonOption)
    .action(async (intern: string, options: SourceOptions & InternOptions & JsonOption) => {
      const { showIntern } = await import('../interns.ts');
      await showIntern(terminal, await load(options), intern, options);
    });
  add('create', 'create an intern of a member')
    .argument('<name>', '2 to 17 lower-case letters, digits and hyphens')
    .requiredOption('--member <id>', 'the member that it belongs to')
    .option('--description <text>', 'purpose of the intern')
    .option('--instructions <text>', 'standing instructions of the intern')
    .option('--provision', 'start the intern, and show the progress')
    .action(async (name: string, options: SourceOptions & CreateInternOptions) => {
      const { addIntern } = await import('../interns.ts');
      await addIntern(terminal, await load(options), name, options);
    });
  add('provision', 'start an intern, or resume a suspended one, and show the progress')
    .argument(...internArgument)
    .option('--no-wait', 'return immediately')
    .action(async (intern: string, options: SourceOptions & InternOptions & { wait: boolean }) => {
      const { startIntern } = await import('../interns.ts');
      await startIntern(terminal, await load(options), intern, options);
    });
  add('suspend', 'stop an intern and keep its files')
    .argument(...internArgument)
    .action(async (intern: string, options: SourceOptions & InternOptions) => {
      const { stopIntern } = await import('../interns.ts');
      await stopIntern(terminal, await load(options), intern, options);
    });
  add('delete', 'delete an intern with its files and its vault')
    .argument(...internArgument)
    .option('--acknowledge-loss', 'delete the intern even if its files cannot be saved')
    .action(async (intern: string, options: SourceOptions & InternOptions & { acknowledgeLoss?: boolean }) => {
      const { removeIntern } = await import('../interns.ts');
      await removeIntern(terminal, await load(options), intern, options);
    });
  addWithUrl('chat', 'talk with a running intern: each line is a message, and its questions are asked here')
    .option('--message <text>', 'send this message, print the reply and end')
    .option('--session <id>', 'the conversation to continue (a new one)')
    .option('--manual', 'the intern asks before it uses its tools')
    .action(async (intern: string, options: SourceOptions & InternApiOptions & InternChatOptions) => {
      const { openInternApi } = await import('../intern-api.ts');
      const { chatWithIntern } = await import('../intern-chat.ts');
      await chatWithIntern(
        terminal,
        await openInternApi(terminal, (await load(options)).config, intern, options),
        options,
      );
    });
  addWithUrl('logs', 'print the log of the agent of a running intern')
    .option('-f, --follow', 'print new lines until the intern stops')
    .action(async (intern: string, options: SourceOptions & InternApiOptions & { follow?: boolean }) => {
      const { openInternApi, printInternLog } = await import('../intern-api.ts');
      const api = await openInternApi(terminal, (await load(options)).config, intern, options);
      await printInternLog(terminal, api, { follows: options.follow === true });
    });
  addScheduleCommands(group, parts);
}

const internArgument = ['<intern>', 'name or id of the intern'] as const;

const examples = `
Examples:
  $ headgate interns create scout --member ada --provision
  $ HEADGATE_KEY=… headgate interns chat scout
  $ headgate interns list
  $ headgate interns suspend scout`;
