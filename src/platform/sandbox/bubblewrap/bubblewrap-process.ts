import { callHost } from './call-host.ts';

/** The process of bubblewrap that watches a sandbox. The sandbox ends with it. Its parent is the process of the sandboxes. */
export class BubblewrapProcess {
  readonly #id: string;
  readonly exited: Promise<void>;
  #hasExited = false;

  /** @param id of a process that has started */
  constructor(id: string) {
    this.#id = id;
    // The end of the process of the sandboxes ends this one, too.
    this.exited = callHost('awaitBubblewrapExit', id)
      .catch(() => {})
      .then(() => {
        this.#hasExited = true;
      });
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /** Runs the script of a command, unless the sandbox has ended. */
  runScript(number: number): void {
    callHost('runScript', this.#id, number).catch(() => {}); // it has ended with its parent
  }

  kill(): void {
    callHost('killBubblewrap', this.#id).catch(() => {}); // it has ended with its parent
  }
}
