import type { Command } from 'commander';
import type { LoadedConfig } from '../config/load.ts';
import type { Terminal } from './terminal.ts';
import type { VaultOptions } from './vault.ts';

/** The dependencies of a group of commands. */
export interface CommandParts<Sources> {
  terminal: Terminal;
  load: (options: Sources) => LoadedConfig;
  /** Creates a command with the options of every command. */
  command: (parent: Command, name: string, description: string, examples: string) => Command;
}

/** Adds `headgate vault`. */
export function addVaultCommands<Sources>(program: Command, { terminal, load, command }: CommandParts<Sources>): void {
  const vault = program.command('vault').description('keep secrets that interns use and never read');
  vault.addHelpText('after', examples);
  const add = (name: string, description: string): Command => command(vault, name, description, examples);
  const addWithPlace = (name: string, description: string): Command =>
    add(name, description)
      .option('--workspace <name>', 'name, slug or id of the workspace (the default one)')
      .option('--intern <id>', 'the vault of an intern (that of the workspace)');

  addWithPlace('list', 'list the secrets of a vault by name, without values')
    .option('--json', 'as a JSON list')
    .action(async (options: Sources & VaultOptions & { json?: boolean }) => {
      const { printSecrets } = await import('./vault.ts');
      await printSecrets(terminal, load(options), options);
    });
  addWithPlace('set', 'store a secret; its value is read from the standard input, or typed without echo')
    .argument(...nameArgument)
    .requiredOption('--host <host...>', 'hosts that may get it, by their exact names')
    .action(async (name: string, options: Sources & VaultOptions & { host: string[] }) => {
      const { setSecret } = await import('./vault.ts');
      await setSecret(terminal, load(options), name, options);
    });
  addWithPlace('delete', 'delete a secret')
    .argument(...nameArgument)
    .action(async (name: string, options: Sources & VaultOptions) => {
      const { removeSecret } = await import('./vault.ts');
      await removeSecret(terminal, load(options), name, options);
    });
  add('copy', 'copy secrets of the workspace to an intern, all or none')
    .argument('<names...>', 'names of the secrets')
    .requiredOption('--intern <id>', 'the intern')
    .action(async (names: string[], options: Sources & { intern: string }) => {
      const { copyToIntern } = await import('./vault.ts');
      await copyToIntern(terminal, load(options), names, options);
    });
  add('effective', 'list the secrets that an intern receives, and where they come from')
    .requiredOption('--intern <id>', 'the intern')
    .option('--json', 'as a JSON list')
    .action(async (options: Sources & { intern: string; json?: boolean }) => {
      const { printEffectiveSecrets } = await import('./vault.ts');
      await printEffectiveSecrets(terminal, load(options), options);
    });
  add('rotate', 'give all vaults new data keys')
    .option('--master-key', 'encrypt the data keys with the current master key instead')
    .action(async (options: Sources & { masterKey?: boolean }) => {
      const { rotateVaults } = await import('./vault.ts');
      await rotateVaults(terminal, load(options), options);
    });
}

const nameArgument = ['<name>', 'name of the secret, such as github_token'] as const;

const examples = `
Examples:
  $ headgate vault set github_token --host api.github.com < token.txt
  $ headgate vault list
  $ headgate vault rotate`;
