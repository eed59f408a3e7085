import type { Command } from 'commander';
import type { ContainerOptions } from '../containers.ts';
import { type CommandParts, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds `headgate containers`. */
export function addContainerCommands(program: Command, parts: CommandParts): void {
  const { addGroup, loadForStore, terminal } = parts;
  const { add: addToGroup } = addGroup(
    program,
    'containers',
    'list, stop and remove the containers of a workspace',
    examples,
  );
  const read = (options: SourceOptions) => loadForStore(options, ['files']).then(({ config }) => config);
  const add = (name: string, description: string): Command => addToGroup(name, description).option(...workspaceOption);
  add('list', 'list the containers of a workspace')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & ContainerOptions) => {
      const { printContainers } = await import('../containers.ts');
      await printContainers(terminal, await read(options), options);
    });
  add('files', 'list the files of a container')
    .argument('<id>', 'id of the container')
    .option('--json', 'print a JSON list')
    .action(async (id: string, options: SourceOptions & ContainerOptions) => {
      const { printContainerFiles } = await import('../containers.ts');
      await printContainerFiles(terminal, await read(options), id, options);
    });
  add('stop', 'stop what runs in a container, and keep its files')
    .argument('<id>', 'id of the container')
    .option('--now', 'end running commands')
    .action(async (id: string, options: SourceOptions & ContainerOptions & { now?: boolean }) => {
      const { stopContainer } = await import('../containers.ts');
      await stopContainer(terminal, await read(options), id, options);
    });
  add('rm', 'stop a container and delete it with its files')
    .argument('<id>', 'id of the container')
    .action(async (id: string, options: SourceOptions & ContainerOptions) => {
      const { removeContainer } = await import('../containers.ts');
      await removeContainer(terminal, await read(options), id, options);
    });
}

const examples = `
Examples:
  $ headgate containers list --workspace team
  $ headgate containers files sess_a
  $ headgate containers stop sess_a --now`;
