import type { Command } from 'commander';
import type { ConfigSources, LoadedConfig } from '../../config/load.ts';
import type { Path } from '../../config/path.ts';
import type { Config } from '../../config/schema.ts';
import { writeExamples } from '../resources/examples.ts';
import type { Terminal } from '../terminal.ts';

/** Options that say where the configuration is, and that override it. */
export interface SourceOptions {
  config?: string;
  data?: string;
  port?: string;
  host?: string;
  workers?: string;
}

/** A command with subcommands, such as `headgate keys`. */
export interface CommandGroup {
  group: Command;
  /** Adds a subcommand, with the examples of the group. */
  add(name: string, description: string, settings?: { isDefault: boolean }): Command;
}

/** Parts that all groups of commands need. They import what reads the configuration when a command calls them. */
export interface CommandParts {
  terminal: Terminal;
  /** Sets the exit code of the process. */
  exit(code: number): void;
  load(options: SourceOptions): Promise<LoadedConfig>;
  /** Creates a function that loads the configuration as often as it is called. */
  createLoader(options: SourceOptions): Promise<() => LoadedConfig>;
  /** Loads what the store needs, and the given parts of the configuration. */
  loadForStore(options: SourceOptions, ...parts: Path[]): Promise<LoadedConfig>;
  /** Finds the store. Loads the configuration only if it may name another one than the default, or has changed. */
  findStore(options: SourceOptions): Promise<Pick<Config, 'storage'>>;
  /** Loads what the store needs. */
  readConfig(options: SourceOptions): Promise<Config>;
  /** Adds a command with the options of every command that reads the configuration. */
  command(parent: Command, name: string, description: string, examples: string): Command;
  /** Adds a command of a resource to its group, with the examples of the resource. @param name `workspaces budgets change` */
  exampleCommand(
    program: Command,
    name: string,
    description: string,
    settings?: { isDefault?: boolean; calls?: readonly string[] },
  ): Command;
  addGroup(parent: Command, name: string, description: string, examples: string): CommandGroup;
}

export function createCommandParts(terminal: Terminal, exit: (code: number) => void): CommandParts {
  const { env, cwd } = terminal;
  const readSources = ({ config: file, data, port, host, workers }: SourceOptions): ConfigSources => ({
    env,
    cwd,
    flags: { data, port, host, workers },
    ...(file === undefined ? undefined : { file }),
  });
  const createLoader = async (options: SourceOptions): Promise<() => LoadedConfig> => {
    const [{ loadConfig }, { checkWrittenDialect }] = await Promise.all([
      import('../../config/load.ts'),
      import('../../compose/check-dialect.ts'),
    ]);
    return () => loadConfig({ ...readSources(options), checkDialect: checkWrittenDialect });
  };
  const loadForStore = async (options: SourceOptions, ...parts: Path[]): Promise<LoadedConfig> => {
    const { loadNeededConfig } = await import('../load-needed-config.ts');
    return loadNeededConfig(terminal, readSources(options), [['storage', 'url'], ...parts]);
  };
  return {
    terminal,
    exit,
    load: async (options) => (await createLoader(options))(),
    createLoader,
    loadForStore,
    async findStore(options) {
      const { findDefaultStore, rememberConfig } = await import('../find-default-store.ts');
      const sources = readSources(options);
      const found = findDefaultStore(sources);
      if (found) return found;
      const loaded = await loadForStore(options);
      rememberConfig(sources, loaded);
      return loaded.config;
    },
    readConfig: async (options) => (await loadForStore(options)).config,
    command: (parent, name, description, examples) =>
      withSources(parent.command(name)).description(description).addHelpText('after', examples),
    exampleCommand(program, name, description, { isDefault = false, calls } = {}) {
      const words = name.split(' ');
      const group = findGroup(program, words.slice(0, -1));
      return withSources(group.command(words.at(-1)!, { isDefault }))
        .description(description)
        .addHelpText('after', writeExamples(name, calls));
    },
    addGroup: (parent, name, description, examples) => {
      const group = findGroup(parent, [name]).description(description).addHelpText('after', examples);
      return {
        group,
        add: (child, summary, settings) =>
          withSources(group.command(child, settings)).description(summary).addHelpText('after', examples),
      };
    },
  };
}

/** Finds the group of commands with a name, and creates it if there is none. */
export const findGroup = (program: Command, words: readonly string[]): Command =>
  words.reduce((group, word) => group.commands.find((one) => one.name() === word) ?? group.command(word), program);

/** Adds the options of every command that reads the configuration. */
export const withSources = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file (headgate.yaml, if it exists)')
    .option('--data <folder>', 'data folder (./data)')
    .allowExcessArguments(false);

export const includeByokOption = ['--include-byok', 'BYOK costs count toward the limit, too'] as const;
export const workspaceOption = ['--workspace <name>', 'name, slug or id of the workspace (the default one)'] as const;
