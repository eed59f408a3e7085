import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SandboxError } from '../sandbox.ts';
import { callHost } from './call-host.ts';
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
  readonly #batches: (Promise<void> | undefined)[] = [];
  #last = -1;

  constructor(folder: string, isForOtherUser: boolean) {
    this.#folder = folder;
    this.#isForOtherUser = isForOtherUser;
    this.#prepare();
  }

  /** @returns the number of the next command, whose pipes exist */
  async take(): Promise<number> {
    const number = ++this.#last;
    const batch = Math.floor(number / BATCH);
    this.#prepare(batch, number);
    if (number % BATCH >= BATCH / 2) this.#prepare(batch + 1);
    await this.#batches[batch];
    return number;
  }

  /** Creates the pipe for the standard input of a process. */
  async createInput(number: number): Promise<void> {
    await createPipes(this.#folder, this.#isForOtherUser ? '644' : '600', [inputName(number)]);
  }

  /** Removes the pipes and the script of a command. Processes that have a pipe open keep it. */
  remove(number: number): void {
    const names = [...Object.values(pipeNames(number)), scriptName(number), inputName(number)];
    for (const name of names) rmSync(join(this.#folder, name), { force: true });
  }

  /** @param first number of a command; pipes of earlier ones failed */
  #prepare(batch = 0, first = batch * BATCH): void {
    if (this.#batches[batch]) return;
    const created = this.#create(batch, first);
    this.#batches[batch] = created;
    created.catch(() => {
      this.#batches[batch] = undefined; // `take` reports it, and the next one tries again
    });
  }

  async #create(batch: number, first: number): Promise<void> {
    const numbers = Array.from({ length: BATCH }, (_, index) => batch * BATCH + index).filter((one) => one >= first);
    const names = numbers.flatMap((number) => Object.values(pipeNames(number)));
    await createPipes(this.#folder, this.#isForOtherUser ? '622' : '600', names);
  }
}

/** @throws {SandboxError} `disk` */
async function createPipes(folder: string, mode: string, names: readonly string[]): Promise<void> {
  if (await callHost('createPipes', folder, mode, names)) return;
  for (const name of names) rmSync(join(folder, name), { force: true });
  throw new SandboxError('disk', NO_SPACE);
}
