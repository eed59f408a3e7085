import type { Command } from 'commander';
import type { VaultOptions } from '../vault.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, type SourceOptions, workspaceOption } from './command-parts.ts';

/** Adds `headgate vault`. */
export function addVaultCommands(program: Command, { terminal, loadForStore, addGroup }: CommandParts): void {
  const { add } = addGroup(program, 'vault', 'keep secrets that interns use and never read', examples);
  const load = (options: SourceOptions) => loadForStore(options, ['secrets']);
  const addWithPlace = (name: string, description: string): Command =>
    add(name, description)
      .option(...workspaceOption)
      .option('--intern <id>', 'intern whose vault is used (the vault of the workspace)');

  addWithPlace('list', 'list the secrets of a vault by name, without values')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & VaultOptions & { json?: boolean }) => {
      const { printSecrets } = await import('../vault.ts');
      await printSecrets(terminal, await load(options), options);
    });
  addWithPlace('set', 'store a secret; its value is read from the standard input, or typed without echo')
    .argument(...nameArgument)
    .requiredOption('--host <host...>', 'exact names of the hosts that may receive the secret')
    .option(
      '--in <location...>',
      'parts of a request that may have it: header, path, query, body, header:NAME (header)',
    )
    .option(...jsonOption)
    .action(
      async (name: string, given: SourceOptions & VaultOptions & JsonOption & { host: string[]; in?: string[] }) => {
        const { host: hosts, in: locations, ...options } = given;
        const { setSecret } = await import('../vault.ts');
        await setSecret(terminal, await load(options), name, { ...options, hosts, locations }); // `host` would be `server.host`
      },
    );
  addWithPlace('delete', 'delete a secret')
    .argument(...nameArgument)
    .action(async (name: string, options: SourceOptions & VaultOptions) => {
      const { removeSecret } = await import('../vault.ts');
      await removeSecret(terminal, await load(options), name, options);
    });
  add('copy', 'copy secrets of the workspace to an intern, all or none')
    .argument('<names...>', 'names of the secrets')
    .requiredOption('--intern <id>', 'the intern')
    .option('--json', 'print a JSON list')
    .action(async (names: string[], options: SourceOptions & JsonOption & { intern: string }) => {
      const { copyToIntern } = await import('../vault.ts');
      await copyToIntern(terminal, await load(options), names, options);
    });
  add('effective', 'list the secrets that an intern receives, and where they come from')
    .requiredOption('--intern <id>', 'the intern')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & { intern: string; json?: boolean }) => {
      const { printEffectiveSecrets } = await import('../vault.ts');
      await printEffectiveSecrets(terminal, await load(options), options);
    });
  add('rotate', 'give all vaults new data keys')
    .option('--master-key', 'encrypt the data keys with the current master key instead')
    .action(async (options: SourceOptions & { masterKey?: boolean }) => {
      const { rotateVaults } = await import('../vault.ts');
      await rotateVaults(terminal, await load(options), options);
    });
}

const nameArgument = ['<name>', 'name of the secret, such as github_token'] as const;

const examples = `
Examples:
  $ headgate vault set github_token --host api.github.com < token.txt
  $ headgate vault list
  $ headgate vault rotate`;
