import { readFileSync, statSync, writeFileSync } from 'node:fs';
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
  /** The program whose configuration is imported: `litellm`. */
  from?: string;
  /** With `from`: a file with its keys, as JSON. */
  keys?: string;
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

  writeNew({ file, shown, force: options.force === true }, writeConfig(providers, found));
  stdout.write(`Wrote ${shown}.\n`);
  for (const { name, variable, id } of providers) stdout.write(`  ${name}: key in ${variable}, models as ${id}/…\n`);
  for (const { name, baseUrl, models, id } of found) {
    const count = models.length === 1 ? '1 model' : `${models.length} models`;
    stdout.write(`  ${name}: responds at ${baseUrl} with ${count}, as ${id}/…\n`);
  }
  if (providers.length + found.length === 0) {
    stdout.write('  No provider key in the environment and no model server on this machine: the simulator responds.\n');
  }
  stdout.write(adviseNext(shown));
}

/**
 * Writes a configuration that has the settings of another program, and prints what it could not carry over.
 *
 * @param source file of that program
 * @throws {CommandError} if a file cannot be read or written
 */
export async function importConfig(
  { stdout, env, cwd }: Terminal,
  source: string | undefined,
  options: InitOptions,
): Promise<void> {
  if (options.from !== 'litellm') {
    const given = options.from === undefined ? 'Name the program of the file' : `${options.from} cannot be imported`;
    throw new CommandError(`${given}: headgate init --from litellm config.yaml`);
  }
  if (source === undefined) throw new CommandError('--from needs the file: headgate init --from litellm config.yaml');
  const file = resolve(cwd, options.output ?? 'headgate.yaml');
  const shown = showPath(file, cwd);
  const { importLitellm } = await import('./imports/import-litellm.ts');
  const { describeImport, writeImport } = await import('./imports/write-import.ts');
  const read = (path: string): string => {
    try {
      return readFileSync(resolve(cwd, path), 'utf8');
    } catch (error) {
      throw new CommandError(`${path} cannot be read: ${readMessage(error)}`);
    }
  };
  const [text, keys] = [read(source), options.keys === undefined ? undefined : read(options.keys)];
  try {
    const imported = importLitellm(text, { keys, env });
    writeNew({ file, shown, force: options.force === true }, writeImport(imported, 'LiteLLM'));
    stdout.write(`Wrote ${shown}.\n${describeImport(imported).join('\n')}\n${adviseNext(shown)}`);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${source} cannot be imported: ${readMessage(error)}`);
  }
}

/** @throws {CommandError} if the file exists, or cannot be written */
function writeNew({ file, shown, force }: { file: string; shown: string; force: boolean }, text: string): void {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' });
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
}

function adviseNext(shown: string): string {
  const isUsual = shown === 'headgate.yaml';
  const [command, inClone] = isUsual ? ['', ''] : [` --config ${shown}`, ` -- --config ${shown}`];
  return `Next: headgate start${command} (in a clone: npm start${inClone})\n`;
}
