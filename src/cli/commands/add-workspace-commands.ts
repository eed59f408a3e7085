import type { Command } from 'commander';
import { withRateOptions } from '../rate-options.ts';
import type { BudgetOptions, WorkspaceOptions } from '../workspaces.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, includeByokOption, type SourceOptions } from './command-parts.ts';

/** Adds `headgate workspaces`. */
export function addWorkspaceCommands(program: Command, parts: CommandParts): void {
  const { addGroup, findStore, loadForStore, readConfig, terminal } = parts;
  const { add } = addGroup(program, 'workspaces', 'create, list, change and delete workspaces', examples);
  add('list', 'list all workspaces, the oldest first')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { printWorkspaces } = await import('../workspaces.ts');
      await printWorkspaces(terminal, await findStore(options), options);
    });
  add('show', 'print a workspace with its settings')
    .argument(...workspaceArgument)
    .option(...jsonOption)
    .action(async (wanted: string, options: SourceOptions & JsonOption) => {
      const { showWorkspace } = await import('../workspaces.ts');
      await showWorkspace(terminal, await readConfig(options), wanted, options);
    });
  withSettings(
    withRateOptions(add('create', 'create a workspace'))
      .requiredOption('--name <name>', 'unique name')
      .option('--slug <slug>', 'name in paths (derived from the name)'),
  ).action(async (options: SourceOptions & WorkspaceOptions & JsonOption & { name: string }) => {
    const { addWorkspace } = await import('../workspaces.ts');
    await addWorkspace(terminal, await loadForStore(options), options);
  });
  withSettings(
    withRateOptions(add('update', 'change the settings of a workspace'))
      .argument(...workspaceArgument)
      .option('--name <name>', 'unique name')
      .option('--slug <slug>', 'name in paths'),
  )
    .option('--no-io-logging', 'keep no further inputs and outputs')
    .action(async (wanted: string, options: SourceOptions & WorkspaceOptions & JsonOption) => {
      const { changeWorkspace } = await import('../workspaces.ts');
      await changeWorkspace(terminal, await loadForStore(options), wanted, options);
    });
  add('delete', 'remove a workspace that has no keys; its ledger entries stay')
    .argument(...workspaceArgument)
    .option('--confirm-default', 'delete the workspace even if it is the default one')
    .action(async (wanted: string, options: SourceOptions & { confirmDefault?: boolean }) => {
      const { removeWorkspace } = await import('../workspaces.ts');
      await removeWorkspace(terminal, await readConfig(options), wanted, options);
    });
  add('budgets', 'set, remove and list what a workspace may spend')
    .argument(...workspaceArgument)
    .option('--set <budget...>', 'an interval and USD: monthly=100')
    .option('--remove <interval...>', 'daily, weekly, monthly or lifetime')
    .option(...includeByokOption)
    .option('--no-include-byok', 'BYOK calls do not count')
    .action(async (wanted: string, options: SourceOptions & BudgetOptions) => {
      const { changeWorkspaceBudgets } = await import('../workspaces.ts');
      await changeWorkspaceBudgets(terminal, await readConfig(options), wanted, options);
    });
  add('members', 'add, remove and list the members of a workspace')
    .argument(...workspaceArgument)
    .option('--add <member...>', 'ids; unknown members are created')
    .option('--remove <member...>', 'ids of members without a key in the workspace')
    .action(async (wanted: string, options: SourceOptions & { add?: string[]; remove?: string[] }) => {
      const { changeWorkspaceMembers } = await import('../workspaces.ts');
      await changeWorkspaceMembers(terminal, await readConfig(options), wanted, options);
    });
}

const withSettings = (command: Command): Command =>
  command
    .option(...jsonOption)
    .option('--description <text>', 'description, or none')
    .option('--default-text-model <slug>', 'model of requests that name no model, or none')
    .option('--default-image-model <slug>', 'model of image requests that name no model, or none')
    .option(
      '--default-provider-sort <key>',
      'of requests that set no order: price, throughput, latency, exacto, or none',
    )
    .option('--default-plugins <json>', 'plugins of all requests: a list as in the API, or none')
    .option('--disable-server-tools <types...>', 'tools that requests must not use, such as router:web_search, or none')
    .option('--io-logging', 'keep inputs and outputs')
    .option('--io-sampling <share>', 'share of the sessions, 0.0001 to 1');

const workspaceArgument = ['<workspace>', 'its id, slug or name'] as const;

const examples = `
Examples:
  $ headgate workspaces create --name "Research"
  $ headgate workspaces update research --default-text-model router/auto --default-provider-sort price
  $ headgate workspaces budgets research --set daily=20 monthly=300
  $ headgate workspaces members research --add ada ben
  $ headgate workspaces delete research`;
