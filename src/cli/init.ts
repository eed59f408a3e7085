import { statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { keyVariable, knownProviders } from '../config/known-providers.ts';
import { showPath } from '../config/load.ts';
import { findLocalServers, localServers } from '../config/local-servers.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';
import { writeConfig } from './write-config.ts';

export interface InitOptions {
  /** Overwrites an existing file. */
  force?: boolean;
  /** Default: `headgate.yaml`. */
  output?: string;
}

/**
 * Writes a configuration with the providers whose key is in the environment and the model servers of this machine.
 *
 * @throws {CommandError} if the file exists, or cannot be written
 */
export async function init(terminal: Terminal, options: InitOptions, servers = localServers): Promise<void> {
  const { stdout, env, cwd } = terminal;
  const file = resolve(cwd, options.output ?? 'headgate.yaml');
  const shown = showPath(file, cwd);
  const providers = knownProviders.flatMap((provider) => {
    const variable = provider.discover && provider.baseUrl ? keyVariable(provider, env) : undefined;
    return variable === undefined ? [] : [{ ...provider, variable }];
  });
  const found = await findLocalServers(servers);

  try {
    writeFileSync(file, writeConfig(providers, found), { flag: options.force ? 'w' : 'wx' });
  } catch (error) {
    // Node's file system errors have a code.
    const { code } = error as NodeJS.ErrnoException;
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
      throw new CommandError(`${file} is a folder. --output needs the name of a file.`);
    }
    if (code === 'EEXIST') {
      throw new CommandError(`${shown} already exists. --force overwrites it, --output writes another file.`);
    }
    if (code === 'ENOENT') throw new CommandError(`${shown} cannot be written: there is no folder ${dirname(file)}.`);
    if (code === 'EACCES') {
      throw new CommandError(`${shown} cannot be written: this user cannot write into ${dirname(file)}.`);
    }
    throw new CommandError(`${shown} cannot be written: ${readMessage(error)}`);
  }

  stdout.write(`Wrote ${shown}.\n`);
  for (const { name, variable, id } of providers) stdout.write(`  ${name}: key in ${variable}, models as ${id}/…\n`);
  for (const { name, baseUrl, models, id } of found) {
    const count = models.length === 1 ? '1 model' : `${models.length} models`;
    stdout.write(`  ${name}: responds at ${baseUrl} with ${count}, as ${id}/…\n`);
  }
  if (providers.length + found.length === 0) {
    stdout.write('  No provider key in the environment and no model server on this machine: the simulator responds.\n');
  }
  const isUsual = shown === 'headgate.yaml';
  const [command, inClone] = isUsual ? ['', ''] : [` --config ${shown}`, ` -- --config ${shown}`];
  stdout.write(`Next: headgate start${command} (in a clone: npm start${inClone})\n`);
}
