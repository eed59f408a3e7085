import type { Command } from 'commander';
import type { ContainerOptions } from '../containers.ts';
import type { InternApiOptions } from '../intern-api.ts';
import type { InternChatOptions } from '../intern-chat.ts';
import type { BudgetOptions } from '../workspace-budgets.ts';
import { type CommandParts, includeByokOption, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds the commands of resources that no route has. */
export function addOperatorCommands(program: Command, parts: CommandParts): void {
  const { exampleCommand, loadForStore, readConfig, terminal } = parts;
  exampleCommand(program, 'workspaces budgets change', 'set and remove budgets together, and list them', {
    isDefault: true,
  })
    .argument('<workspace>', 'its id, slug or name')
    .option('--set <budget...>', 'an interval and USD: monthly=100')
    .option('--remove <interval...>', 'daily, weekly, monthly or lifetime')
    .option(...includeByokOption)
    .option('--no-include-byok', 'BYOK calls do not count')
    .action(async (wanted: string, options: SourceOptions & BudgetOptions) => {
      const { changeWorkspaceBudgets } = await import('../workspace-budgets.ts');
      await changeWorkspaceBudgets(terminal, await readConfig(options), wanted, options);
    });
  exampleCommand(program, 'vault rotate', 'give all vaults new data keys')
    .option('--master-key', 'encrypt the data keys with the current master key instead')
    .action(async (options: SourceOptions & { masterKey?: boolean }) => {
      const { rotateVaults } = await import('../rotate-vaults.ts');
      await rotateVaults(terminal, await loadForStore(options, ['secrets']), options);
    });
  addContainerCommands(program, parts);
  addInternCommands(program, parts);
}

function addContainerCommands(program: Command, { exampleCommand, loadForStore, terminal }: CommandParts): void {
  const read = (options: SourceOptions) => loadForStore(options, ['files']).then(({ config }) => config);
  const add = (name: string, description: string): Command =>
    exampleCommand(program, `containers ${name}`, description).option(...workspaceOption);
  add('list', 'list the containers of a workspace')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & ContainerOptions) => {
      const { printContainers } = await import('../containers.ts');
      await printContainers(terminal, await read(options), options);
    });
  add('stop', 'stop what runs in a container, and keep its files')
    .argument('<container>', 'its id')
    .option('--now', 'end running commands')
    .action(async (id: string, options: SourceOptions & ContainerOptions & { now?: boolean }) => {
      const { stopContainer } = await import('../containers.ts');
      await stopContainer(terminal, await read(options), id, options);
    });
  add('rm', 'stop a container and delete it with its files')
    .argument('<container>', 'its id')
    .action(async (id: string, options: SourceOptions & ContainerOptions) => {
      const { removeContainer } = await import('../containers.ts');
      await removeContainer(terminal, await read(options), id, options);
    });
}

/** Adds the commands that call a running gateway with the key of a member. */
function addInternCommands(program: Command, { exampleCommand, loadForStore, terminal }: CommandParts): void {
  const add = (name: string, description: string): Command =>
    exampleCommand(program, `interns ${name}`, description)
      .argument('<intern>', 'its id or name')
      .option('--url <url>', 'address of the gateway (the one of the configuration)');
  const open = async (intern: string, options: SourceOptions & InternApiOptions) => {
    const { openInternApi } = await import('../intern-api.ts');
    return openInternApi(terminal, (await loadForStore(options)).config, intern, options);
  };
  add('chat', 'talk with a running intern: each line is a message, and its questions are asked here')
    .option('--message <text>', 'send this message, print the reply and end')
    .option('--session <id>', 'the conversation to continue (a new one)')
    .option('--manual', 'the intern asks before it uses its tools')
    .action(async (intern: string, options: SourceOptions & InternApiOptions & InternChatOptions) => {
      const { chatWithIntern } = await import('../intern-chat.ts');
      await chatWithIntern(terminal, await open(intern, options), options);
    });
  add('logs', 'print the log of the agent of a running intern')
    .option('-f, --follow', 'print new lines until the intern stops')
    .action(async (intern: string, options: SourceOptions & InternApiOptions & { follow?: boolean }) => {
      const { printInternLog } = await import('../intern-api.ts');
      await printInternLog(terminal, await open(intern, options), { follows: options.follow === true });
    });
}
