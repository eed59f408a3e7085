import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import { readMasterKey } from '../platform/data-folder/data-folder.ts';

/** As their bytes are configured. */
export interface MasterKeyTexts {
  current: Buffer;
  previous: Buffer | undefined;
}

interface KeySource {
  text: string | undefined;
  file: string | undefined;
  command: readonly string[] | undefined;
  /** The setting, for messages. */
  name: string;
}

const COMMAND_MS = 10_000;
const MAX_KEY_BYTES = 65_536;

/**
 * Reads the master key from its source: the configuration or the environment, a file, a command, or the data folder, where
 * it is created at the first start.
 *
 * @throws with the remedy; the message has nothing that a file or a command contained
 */
export function readMasterKeys({ secrets }: Pick<Config, 'secrets'>, dataDir: string): MasterKeyTexts {
  const current = readKey({
    name: 'master_key',
    text: secrets.master_key,
    file: secrets.master_key_file,
    command: secrets.master_key_command,
  });
  const previous = readKey({
    name: 'previous_master_key',
    text: secrets.previous_master_key,
    file: secrets.previous_master_key_file,
    command: secrets.previous_master_key_command,
  });
  return { current: current ?? readMasterKey(dataDir, undefined), previous };
}

function readKey({ name, text, file, command }: KeySource): Buffer | undefined {
  if (text !== undefined) return Buffer.from(text, 'utf8');
  if (file !== undefined) return checkKey(readKeyFile(name, file), `The file ${file} (secrets.${name}_file)`);
  if (command !== undefined) return checkKey(runKeyCommand(name, command), `The output of secrets.${name}_command`);
  return undefined;
}

function checkKey(bytes: Buffer, what: string): Buffer {
  const text = bytes.toString('utf8').trim();
  bytes.fill(0);
  if (text === '') throw new Error(`${what} is empty. It must have the key.`);
  if (text.length > MAX_KEY_BYTES) throw new Error(`${what} is too long for a key.`);
  return Buffer.from(text, 'utf8');
}

function readKeyFile(name: string, file: string): Buffer {
  try {
    return readFileSync(resolve(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // an error of the file system
    const says = `The file ${file} (secrets.${name}_file) cannot be read (${code}).`;
    throw new Error(`${says} Give the user who runs Headgate access to it.`, { cause: error });
  }
}

function runKeyCommand(name: string, [program = '', ...rest]: readonly string[]): Buffer {
  try {
    return execFileSync(program, rest, {
      timeout: COMMAND_MS,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_KEY_BYTES,
      stdio: ['ignore', 'pipe', 'ignore'], // neither output may reach the log
    });
  } catch (error) {
    const { code, status, signal } = error as NodeJS.ErrnoException & {
      status?: number | null;
      signal?: string | null;
    };
    const problem = status ? `ended with exit code ${status}` : `failed (${code ?? signal})`;
    // The error of Node has the output, so it is not the cause.
    throw new Error(`secrets.${name}_command: ${program} ${problem}. Run it as the user who runs Headgate to see why.`);
  }
}
