import type { Command } from 'commander';
import type { PresetOptions, PresetPlace } from '../presets.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds `headgate presets`. */
export function addPresetCommands(program: Command, parts: CommandParts): void {
  const { addGroup, readConfig, terminal } = parts;
  const { add: addToGroup } = addGroup(
    program,
    'presets',
    'keep request settings under a name, for all keys of a workspace',
    examples,
  );
  const add = (name: string, description: string): Command => addToGroup(name, description).option(...workspaceOption);
  add('list', 'list the presets of a workspace, the oldest first')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & PresetPlace & { json?: boolean }) => {
      const { printPresets } = await import('../presets.ts');
      await printPresets(terminal, await readConfig(options), options);
    });
  add('show', 'print a preset with its settings')
    .argument(...presetArgument)
    .option(...jsonOption)
    .action(async (slug: string, options: SourceOptions & PresetPlace & JsonOption) => {
      const { showPreset } = await import('../presets.ts');
      await showPreset(terminal, await readConfig(options), slug, options);
    });
  add('save', 'create a preset, or a new version of it, from the body of a request')
    .argument(...presetArgument)
    .requiredOption('--body <file>', 'body of a POST /responses, or - for the standard input')
    .option(...jsonOption)
    .action(async (slug: string, options: SourceOptions & PresetPlace & JsonOption & { body: string }) => {
      const { savePresetFile } = await import('../presets.ts');
      await savePresetFile(terminal, await readConfig(options), slug, options);
    });
  add('update', 'rename a preset, change its status, or choose another version')
    .argument(...presetArgument)
    .option(...jsonOption)
    .option('--slug <slug>', 'name in requests')
    .option('--name <name>', 'display name')
    .option('--description <text>', 'description, or none')
    .option('--status <status>', 'active, disabled or archived')
    .option('--use-version <number>', 'the version that requests use')
    .action(async (slug: string, options: SourceOptions & PresetOptions) => {
      const { changePreset } = await import('../presets.ts');
      await changePreset(terminal, await readConfig(options), slug, options);
    });
  add('delete', 'remove a preset with all its versions')
    .argument(...presetArgument)
    .action(async (slug: string, options: SourceOptions & PresetPlace) => {
      const { removePreset } = await import('../presets.ts');
      await removePreset(terminal, await readConfig(options), slug, options);
    });
}

const presetArgument = ['<slug>', 'its name in requests'] as const;

const examples = `
Examples:
  $ headgate presets save support --body request.json
  $ headgate presets update support --use-version 1
  $ headgate presets list --workspace team`;
