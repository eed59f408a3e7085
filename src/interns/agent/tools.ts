import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** Characters of a result. The middle of a longer one is left out. */
const MAX_RESULT = 24_000;
/** Time for the rest of the output of a command that left processes behind. */
const OUTPUT_MS = 250;
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Variables that commands do not have. */
const ownVariables = [
  'HEADGATE_CONTROL_KEY',
  'HEADGATE_REPLY_KEY',
  'HEADGATE_API_KEY',
  'HEADGATE_INSTRUCTIONS',
  'HEADGATE_NODE_CERTIFICATES',
];

const text = (description: string) => ({ type: 'string', description });

function define(name: string, description: string, properties: Record<string, unknown>, required: string[]) {
  return {
    type: 'function',
    name,
    description,
    strict: false,
    parameters: { type: 'object', properties, required, additionalProperties: false },
  };
}

export const toolDefinitions = [
  define(
    'shell',
    'Runs a command with bash in your home folder. Files there are kept. The only network is an HTTP proxy, which the environment names.',
    { command: text('The command.'), timeout_ms: { type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS } },
    ['command'],
  ),
  define('read_file', 'Reads a text file.', { path: text('Relative to your home folder.') }, ['path']),
  define(
    'write_file',
    'Creates or replaces a text file.',
    { path: text('Relative to your home folder.'), content: text('The whole content.') },
    ['path', 'content'],
  ),
  define(
    'edit_file',
    'Replaces a text that occurs exactly once in a file.',
    { path: text('Relative to your home folder.'), old: text('The text to replace.'), new: text('Its replacement.') },
    ['path', 'old', 'new'],
  ),
  define(
    'ask',
    'Asks the person a question and waits for the answer. Use it only if you cannot go on without it.',
    {
      message: text('The question.'),
      options: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 20,
        description: 'Possible answers, if they are few.',
      },
    },
    ['message'],
  ),
];

/** Tools that need the consent of the person in the mode `manual`. choice 681 */
export const approvalTools: ReadonlySet<string> = new Set(['shell', 'write_file', 'edit_file']);

export interface AgentCall {
  name: string;
  arguments: Record<string, unknown>;
  home: string;
  signal: AbortSignal;
}

/** Runs a tool. Its mistakes are results, so that the model can correct them. @throws the reason of the signal */
export async function runTool(call: AgentCall): Promise<string> {
  try {
    return cut(await perform(call));
  } catch (error) {
    call.signal.throwIfAborted();
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function perform({ name, arguments: given, home, signal }: AgentCall): Promise<string> {
  const read = (field: string): string => {
    const value = given[field];
    if (typeof value !== 'string') throw new Error(`${field} must be a string.`);
    return value;
  };
  const path = (): string => resolve(home, read('path'));
  switch (name) {
    case 'shell': {
      const wanted = Number(given.timeout_ms ?? DEFAULT_TIMEOUT_MS);
      return runCommand(read('command'), home, Math.min(MAX_TIMEOUT_MS, Math.max(1, wanted || 1)), signal);
    }
    case 'read_file':
      return readText(path());
    case 'write_file':
      await writeText(path(), read('content'));
      return 'The file is written.';
    case 'edit_file': {
      const before = await readText(path());
      const parts = before.split(read('old'));
      if (parts.length !== 2) throw new Error(`The old text occurs ${parts.length - 1} times; it must occur once.`);
      await writeText(path(), parts.join(read('new')));
      return 'The file is changed.';
    }
    default:
      throw new Error(`There is no tool ${name}.`);
  }
}

async function readText(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`The file has ${size} bytes. Read a part of it with the shell.`);
  } finally {
    await file.close();
  }
  return readFile(path, 'utf8');
}

async function writeText(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.headgate-new`, content);
  await rename(`${path}.headgate-new`, path);
}

/** Runs a command with all its processes in a group, which a timeout and the signal kill. */
function runCommand(command: string, home: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const environment: NodeJS.ProcessEnv = { ...process.env, NODE_USE_ENV_PROXY: '1' };
  const certificates = environment.HEADGATE_NODE_CERTIFICATES;
  if (certificates) environment.NODE_EXTRA_CA_CERTS = certificates;
  for (const name of ownVariables) delete environment[name];
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', command], {
      cwd: home,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (piece: string) => {
        output[name] = keepEnds(output[name] + piece);
      });
    }
    let end = '';
    const kill = (reason: string): void => {
      end = reason;
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {
        // it has ended
      }
    };
    const timer = setTimeout(() => kill(`The command took longer than ${timeoutMs} ms and was killed.`), timeoutMs);
    const cancel = (): void => kill('cancelled');
    signal.addEventListener('abort', cancel, { once: true });
    const finish = (exit: string): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      child.stdout.destroy();
      child.stderr.destroy();
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const errors = output.stderr === '' ? '' : `\n[stderr]\n${output.stderr}`;
      resolve(`${output.stdout}${errors}\n[${end || exit}]`.trim());
    };
    child.on('error', (error) => finish(error.message));
    child.on('close', (code, by) => finish(`exit code ${code ?? by}`));
    // Processes in the background can keep the output open.
    child.on('exit', (code, by) => setTimeout(finish, OUTPUT_MS, `exit code ${code ?? by}`));
  });
}

const keepEnds = (value: string): string => (value.length > 4 * MAX_RESULT ? cut(value) : value);

function cut(value: string): string {
  if (value.length <= MAX_RESULT) return value;
  const half = MAX_RESULT / 2;
  return `${value.slice(0, half)}\n[${value.length - MAX_RESULT} characters left out]\n${value.slice(-half)}`;
}
