import type { EntryToWrite, Sandbox } from '../../platform/sandbox/sandbox.ts';

/** Where the log of an agent is saved, in its home. */
export const LOG_PATH = '.headgate/agent.log';

/** Writes one file into the home folder of a sandbox. */
export async function writeFile(
  sandbox: Pick<Sandbox, 'write'>,
  path: string,
  content: Buffer,
  modifiedAtMs: number,
): Promise<void> {
  const entry: EntryToWrite = {
    path: Buffer.from(path),
    kind: 'file',
    mode: 0o600,
    modifiedAtMs,
    content: list(content),
  };
  await sandbox.write(list(entry));
}

async function* list<T>(...entries: T[]): AsyncGenerator<T> {
  yield* entries;
}
