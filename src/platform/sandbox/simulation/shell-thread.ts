import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Bash, type CommandName, getCommandNames } from 'just-bash';
import { SANDBOX_HOME } from '../sandbox.ts';
import type { ShellFiles } from './files-thread.ts';
import { ShellFileSystem } from './shell-files.ts';
import { openCalls, serveCalls } from '../../threads/thread-calls.ts';

export interface ShellData {
  files: MessagePort;
  memoryBytes: number;
}

export interface ShellJob {
  command: string;
  environment: Record<string, string>;
  timeoutMs: number;
  maxOutputBytes: number;
}

export interface ShellResult {
  stdout: string;
  stderr: string;
  exitCode: number;
}

const { files, memoryBytes } = workerData as ShellData; // from simulated-sandbox.ts
const { call } = openCalls<ShellFiles>(files);
const fileSystem = new ShellFileSystem(call);

/** `sqlite3` has its own memory, which no limit of a thread covers. */
const commands = getCommandNames().filter((name): name is CommandName => name !== 'sqlite3');

const functions = {
  async run({ command, environment, timeoutMs, maxOutputBytes }: ShellJob): Promise<ShellResult> {
    const bash = new Bash({
      fs: fileSystem,
      cwd: SANDBOX_HOME,
      env: environment,
      commands,
      executionLimits: {
        // The thread ends at the time limit, so turns need no limit of their own.
        maxCommandCount: 10_000_000,
        maxLoopIterations: 10_000_000,
        maxAwkIterations: 10_000_000,
        maxSedIterations: 10_000_000,
        maxExecutionTimeMs: timeoutMs,
        maxOutputSize: maxOutputBytes,
        maxLiveBytes: memoryBytes,
        maxInputBytes: memoryBytes,
        maxStringLength: Math.floor(memoryBytes / 4),
      },
    });
    const { stdout, stderr, exitCode } = await bash.exec(command, { rawScript: true });
    return { stdout, stderr, exitCode };
  },
};

export type ShellFunctions = typeof functions;

serveCalls(parentPort!, functions); // this module is the entry of a worker
