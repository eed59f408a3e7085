import type { Command } from 'commander';
import type { UpdateKeyOptions } from '../change-keys.ts';
import type { CreateKeyOptions } from '../create-key.ts';
import { withRateOptions } from '../rate-options.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, includeByokOption, type SourceOptions } from './command-parts.ts';

/** Adds `headgate keys`. */
export function addKeyCommands(program: Command, parts: CommandParts): void {
  const { addGroup, findStore, readConfig, terminal } = parts;
  const { add } = addGroup(
    program,
    'keys',
    'create, list, change and delete keys; also while the gateway runs',
    examples,
  );
  withRateOptions(add('create', 'create a key; its text is printed once, alone on stdout'))
    .option('--name <name>', 'display name')
    .option('--workspace <name>', 'name or id of its workspace')
    .option('--member <id>', 'owner of the key; created if unknown (the organization)')
    .option('--organization', 'the organization owns the key: the default')
    .option('--management', 'create a key that administers, and cannot request models')
    .option('--expires <when>', 'date, time, or 90d, 12h, 30m from now')
    .option('--external <user>', 'user of your application who has the key')
    .option(...limitOption)
    .option(...limitResetOption)
    .option(...includeByokOption)
    .action(async (options: SourceOptions & CreateKeyOptions) => {
      const { addKey } = await import('../create-key.ts');
      await addKey(terminal, await readConfig(options), options);
    });
  add('list', 'list all keys, the newest first')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { printKeys } = await import('../list-keys.ts');
      await printKeys(terminal, await findStore(options), options);
    });
  add('show', 'print a key with its settings and its spending')
    .argument(...keyArgument)
    .option(...jsonOption)
    .action(async (wanted: string, options: SourceOptions & JsonOption) => {
      const { showKey } = await import('../change-keys.ts');
      await showKey(terminal, await readConfig(options), wanted, options);
    });
  withRateOptions(add('update', 'change the settings of a key'))
    .argument(...keyArgument)
    .option('--name <name>', 'display name')
    .option('--enable', 'enable the key again')
    .option('--disable', 'reject the key from now on')
    .option(...limitOption)
    .option(...limitResetOption)
    .option(...includeByokOption)
    .option('--no-include-byok', 'BYOK calls do not count')
    .action(async (wanted: string, options: SourceOptions & UpdateKeyOptions) => {
      const { changeKey } = await import('../change-keys.ts');
      await changeKey(terminal, await readConfig(options), wanted, options);
    });
  add('rotate', 'replace a key with a new one that has the same settings')
    .argument(...keyArgument)
    .option('--grace <time>', 'time for which the old key stays valid: 30m, 12h, up to 1d (0)')
    .action(async (wanted: string, options: SourceOptions & { grace?: string }) => {
      const { replaceKey } = await import('../change-keys.ts');
      await replaceKey(terminal, await readConfig(options), wanted, options);
    });
  add('disable', 'reject a key from now on')
    .argument(...keyArgument)
    .action(async (wanted: string, options: SourceOptions) => {
      const { disableKey } = await import('../change-keys.ts');
      await disableKey(terminal, await readConfig(options), wanted);
    });
  add('delete', 'remove a key; its ledger entries stay')
    .argument(...keyArgument)
    .action(async (wanted: string, options: SourceOptions) => {
      const { removeKey } = await import('../change-keys.ts');
      await removeKey(terminal, await readConfig(options), wanted);
    });
}

const keyArgument = ['<key>', 'its hash, the first 4 or more digits of it, or its name'] as const;
const limitOption = ['--limit <usd>', 'maximum that the key can spend, or none'] as const;
const limitResetOption = ['--limit-reset <when>', 'daily, weekly, monthly (UTC) or never'] as const;

const examples = `
Examples:
  $ KEY=$(headgate keys create --name app --expires 90d)
  $ headgate keys create --management --name admin
  $ headgate keys create --name trial --limit 5 --limit-reset monthly
  $ headgate keys list
  $ headgate keys update app --limit 20 --name production
  $ headgate keys update app --requests-per-minute 600 --concurrent-requests 20
  $ headgate keys rotate app --grace 1h
  $ headgate keys disable app`;
