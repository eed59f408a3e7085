import { PipeReader } from './read-pipe.ts';

/** Reads what the script of a command says: its process id, then the exit code. Commands can forge it for themselves. */
export class StatusReader {
  readonly #reader: PipeReader;
  readonly exitCode: Promise<number | 'killed'>;
  /** Resolves when the command has its pipes open. Pending if that never happens. */
  readonly begun: Promise<void>;
  #text = '';

  constructor(path: string) {
    let end: (exitCode: number | 'killed') => void;
    this.exitCode = new Promise((resolve) => {
      end = resolve;
    });
    const begun = Promise.withResolvers<void>();
    this.begun = begun.promise;
    this.#reader = new PipeReader(path, 64, (bytes) => {
      this.#text += bytes.toString('latin1');
      if (this.leader !== undefined) begun.resolve();
      const exitCode = /^\d+\n(\d{1,3})\n/.exec(this.#text)?.[1];
      if (exitCode !== undefined) end(Number(exitCode));
    });
    this.#reader.onEnd = () => end('killed'); // before it could say more
  }

  /** The process that leads the session of the command, by its id in the sandbox. */
  get leader(): number | undefined {
    const leader = /^(\d{1,9})\n/.exec(this.#text)?.[1];
    return leader === undefined ? undefined : Number(leader);
  }

  close(): void {
    this.#reader.close();
  }
}
