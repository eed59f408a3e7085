import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SandboxError } from '../sandbox.ts';
import { callHost } from './call-host.ts';

/** Why a command cannot start. */
export const NO_SPACE = 'The gateway cannot write to its disk, which may be full.';

/** Pipes that are created at once: each call starts a process. */
const BATCH = 48;
/** With fewer pipes, the next batch is created. */
const MIN_READY = 24;

/**
 * Creates named pipes before they are needed, for all sandboxes of a process. Node cannot create them, and the program
 * that does takes up to 100 ms on a busy host.
 */
export class PipeStock {
  readonly #folder: string;
  readonly #mode: string;
  readonly #ready: string[] = [];
  #created = 0;
  #creation: Promise<void> | undefined;

  /** @param isForOtherUser sandboxes have another user, who may write to pipes, but not read what other commands write */
  constructor(folder: string, isForOtherUser: boolean) {
    this.#folder = folder;
    this.#mode = isForOtherUser ? '622' : '600';
  }

  /**
   * Returns the paths of pipes that belong to the caller.
   *
   * @throws {SandboxError} `disk`
   */
  async take(count: number): Promise<string[]> {
    while (this.#ready.length < count) await this.prepare();
    const taken = this.#ready.splice(0, count);
    if (this.#ready.length < MIN_READY) this.prepare().catch(() => {}); // the next `take` tries again, and reports it
    return taken;
  }

  /**
   * Creates the next batch.
   *
   * @throws {SandboxError} `disk`
   */
  prepare(): Promise<void> {
    this.#creation ??= this.#create().finally(() => {
      this.#creation = undefined;
    });
    return this.#creation;
  }

  /** Waits for programs that still write to the folder. */
  async close(): Promise<void> {
    await this.#creation?.catch(() => {}); // nothing takes its pipes
  }

  async #create(): Promise<void> {
    const names = Array.from({ length: BATCH }, () => String(this.#created++));
    const paths = names.map((name) => join(this.#folder, name));
    const isCreated = await callHost('createPipes', this.#folder, this.#mode, names).catch(() => false);
    if (isCreated) {
      this.#ready.push(...paths);
      return;
    }
    for (const path of paths) rmSync(path, { force: true });
    throw new SandboxError('disk', NO_SPACE);
  }
}
