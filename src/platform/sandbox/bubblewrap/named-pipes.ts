import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SandboxError } from '../sandbox.ts';
import { inputName, pipeNames, scriptName } from './agent.ts';

/** Why a command cannot start. */
export const NO_SPACE = 'The gateway cannot write to its disk, which may be full.';

/** Commands for which pipes are created at once: each call starts a process. */
const BATCH = 8;

/** Creates the pipes of commands before they are needed. Node cannot create named pipes. */
export class NamedPipes {
  readonly #folder: string;
  /** The sandbox has another user, who may write to pipes, but not read what other commands write. */
  readonly #isForOtherUser: boolean;
  readonly #batches: Promise<void>[] = [];
  #last = -1;

  constructor(folder: string, isForOtherUser: boolean) {
    this.#folder = folder;
    this.#isForOtherUser = isForOtherUser;
    this.#prepare();
  }

  /** @returns the number of the next command, whose pipes exist */
  async take(): Promise<number> {
    const number = ++this.#last;
    if (number % BATCH >= BATCH / 2) this.#prepare(Math.floor(number / BATCH) + 1);
    await this.#batches[Math.floor(number / BATCH)];
    return number;
  }

  /** Creates the pipe for the standard input of a process. */
  async createInput(number: number): Promise<void> {
    await makePipes(this.#folder, this.#isForOtherUser ? '644' : '600', [inputName(number)]);
  }

  /** Removes the pipes and the script of a command. Processes that have a pipe open keep it. */
  remove(number: number): void {
    const names = [...Object.values(pipeNames(number)), scriptName(number), inputName(number)];
    for (const name of names) rmSync(join(this.#folder, name), { force: true });
  }

  #prepare(batch = 0): void {
    if (this.#batches[batch]) return;
    const created = this.#create(batch);
    created.catch(() => {}); // `take` reports it, unless the sandbox did not start
    this.#batches[batch] = created;
  }

  async #create(batch: number): Promise<void> {
    const names = Array.from({ length: BATCH }, (_, index) => Object.values(pipeNames(batch * BATCH + index))).flat();
    await makePipes(this.#folder, this.#isForOtherUser ? '622' : '600', names);
  }
}

/** @throws {SandboxError} `disk` */
async function makePipes(folder: string, mode: string, names: readonly string[]): Promise<void> {
  const child = spawn('mkfifo', ['-m', mode, ...names], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin' },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new SandboxError('disk', NO_SPACE);
}
