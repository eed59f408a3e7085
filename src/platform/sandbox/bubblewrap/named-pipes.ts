import { chmodSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SandboxError } from '../sandbox.ts';
import { inputName, pipeNames, scriptName } from './agent.ts';
import { NO_SPACE, type PipeStock } from './pipe-stock.ts';

/** The pipes of the commands of a sandbox. */
export class NamedPipes {
  readonly #folder: string;
  readonly #stock: PipeStock;
  #last = -1;

  /** @param folder on the file system of the stock */
  constructor(folder: string, stock: PipeStock) {
    this.#folder = folder;
    this.#stock = stock;
  }

  /**
   * Returns the number of the next command, whose pipes exist.
   *
   * @throws {SandboxError} `disk`
   */
  async take(): Promise<number> {
    const number = ++this.#last;
    await this.#place(Object.values(pipeNames(number)));
    return number;
  }

  /**
   * Places the pipe for the standard input of a process.
   *
   * @throws {SandboxError} `disk`
   */
  async createInput(number: number): Promise<void> {
    await this.#place([inputName(number)]);
    chmodSync(join(this.#folder, inputName(number)), 0o644); // the sandbox reads it
  }

  /** Removes the script of a command that the shell has read, because every process of the sandbox could read its variables. */
  removeScript(number: number): void {
    rmSync(join(this.#folder, scriptName(number)), { force: true });
  }

  /** Removes the pipes and the script of a command. Processes that have a pipe open keep it. */
  remove(number: number): void {
    const names = [...Object.values(pipeNames(number)), scriptName(number), inputName(number)];
    for (const name of names) rmSync(join(this.#folder, name), { force: true });
  }

  async #place(names: readonly string[]): Promise<void> {
    const paths = await this.#stock.take(names.length);
    try {
      for (const [index, path] of paths.entries()) renameSync(path, join(this.#folder, names[index]!));
    } catch (cause) {
      for (const path of [...paths, ...names.map((name) => join(this.#folder, name))]) rmSync(path, { force: true });
      throw new SandboxError('disk', NO_SPACE, { cause });
    }
  }
}
