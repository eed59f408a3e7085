import type { Command } from 'commander';
import type { ListModelsOptions } from '../models/list.ts';
import type { CommandParts, SourceOptions } from './command-parts.ts';

/** Adds `headgate models`. */
export function addModelCommands(program: Command, parts: CommandParts): void {
  const { addGroup, load, terminal } = parts;
  const { add } = addGroup(program, 'models', 'list models; fetch a newer list of them', examples);
  add('list', 'list the models that can be requested; what "headgate models" alone does', { isDefault: true })
    .argument('[query...]', 'words in the slug, the name or the providers; all must match')
    .option('--all', 'also models that no configured provider has')
    .option('--json', 'print a JSON list')
    .action(async (query: string[], options: SourceOptions & ListModelsOptions) => {
      const { listModels } = await import('../models/list.ts');
      await listModels(terminal, await load(options), query.length === 0 ? undefined : query.join(' '), options);
    });
  add('refresh', 'fetch a public list of models and prices into the data folder')
    .option('--from <url>', 'address of the list (https://models.dev/api.json)')
    .action(async (options: SourceOptions & { from?: string }) => {
      const { refreshModels } = await import('../models/refresh.ts');
      await refreshModels(terminal, await load(options), options);
    });
}

const examples = `
Examples:
  $ headgate models
  $ headgate models claude --json
  $ headgate models --all 'gpt mini'
  $ headgate models refresh

Nothing is fetched but by "refresh". A running gateway takes its file over at the next reload (SIGHUP) or start.`;
