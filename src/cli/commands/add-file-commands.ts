import type { Command } from 'commander';
import type { FilePlace } from '../files.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds `headgate files`. */
export function addFileCommands(program: Command, parts: CommandParts): void {
  const { addGroup, loadForStore, terminal } = parts;
  const { add: addToGroup } = addGroup(program, 'files', 'list, add and remove the files of a workspace', examples);
  const read = (options: SourceOptions) => loadForStore(options, ['files']).then(({ config }) => config);
  const add = (name: string, description: string): Command => addToGroup(name, description).option(...workspaceOption);
  add('list', 'list the files of a workspace, the oldest first')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & FilePlace & { json?: boolean }) => {
      const { printFiles } = await import('../files.ts');
      await printFiles(terminal, await read(options), options);
    });
  add('upload', 'store a file')
    .argument('<file>', 'path of the file')
    .option('--name <name>', 'name of the stored file (the name of the file)')
    .option(...jsonOption)
    .action(async (file: string, options: SourceOptions & FilePlace & JsonOption & { name?: string }) => {
      const { uploadFile } = await import('../files.ts');
      await uploadFile(terminal, await read(options), file, options);
    });
  add('rm', 'delete a file')
    .argument('<id>', 'id of the file')
    .action(async (id: string, options: SourceOptions & FilePlace) => {
      const { removeFile } = await import('../files.ts');
      await removeFile(terminal, await read(options), id, options);
    });
}

const examples = `
Examples:
  $ headgate files upload report.pdf
  $ headgate files upload q1.csv --name reports/q1.csv --workspace team
  $ headgate files list`;
