import type { Command } from 'commander';
import type { CreateKeyOptions } from '../create-key.ts';
import { withRateOptions } from '../rate-options.ts';
import { type CommandParts, includeByokOption, type SourceOptions } from './command-parts.ts';

/** Adds the commands of keys that print a new key, or need no route. */
export function addKeyCommands(program: Command, parts: CommandParts): void {
  const { exampleCommand, findStore, readConfig, terminal } = parts;
  const add = (name: string, description: string): Command => exampleCommand(program, `keys ${name}`, description);
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
  add('rotate', 'replace a key with a new one that has the same settings')
    .argument(...keyArgument)
    .option('--grace <time>', 'time for which the old key stays valid: 30m, 12h, up to 1d (0)')
    .action(async (wanted: string, options: SourceOptions & { grace?: string }) => {
      const { replaceKey } = await import('../rotate-key.ts');
      await replaceKey(terminal, await readConfig(options), wanted, options);
    });
}

const keyArgument = ['<key>', 'its hash, the first 4 or more digits of it, or its name'] as const;
const limitOption = ['--limit <usd>', 'maximum that the key can spend, or none'] as const;
const limitResetOption = ['--limit-reset <when>', 'daily, weekly, monthly (UTC) or never'] as const;
