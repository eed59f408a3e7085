import { randomUUID } from 'node:crypto';
import { BubblewrapDriver } from '../../src/platform/sandbox/bubblewrap/bubblewrap-driver.ts';
import { type Sandbox, SandboxError, type SandboxLimits } from '../../src/platform/sandbox/sandbox.ts';
import type { EscapeAttempt } from './attempts.ts';

const MIB = 2 ** 20;
const limits: SandboxLimits = {
  memoryBytes: 512 * MIB,
  cpus: 1,
  processes: 128,
  diskBytes: 64 * MIB,
  diskEntries: 20_000,
  temporaryBytes: 8 * MIB,
};

export interface AttemptsToRun {
  folder: string;
  hidden: readonly string[];
  environment: Readonly<Record<string, string>>;
  attempts: readonly Pick<EscapeAttempt, 'name' | 'command' | 'limits' | 'timeoutMs'>[];
}

export interface AttemptResults {
  /** By the name of the attempt: how it ended, and both outputs in Latin-1. */
  results: Record<string, string>;
  /** Of the shared sandbox, after all attempts. */
  stillWorks: boolean;
}

/** Runs attempts with the driver, as the user of this process. */
export async function runAttempts(parts: AttemptsToRun): Promise<AttemptResults> {
  const driver = new BubblewrapDriver({ folder: parts.folder, hidden: parts.hidden });
  try {
    const results: Record<string, string> = {};
    /** Attempts with limits of their own do not touch the shared sandbox, so they run beside it. */
    const runAlone = async (): Promise<void> => {
      for (const attempt of parts.attempts) {
        if (!attempt.limits) continue;
        const sandbox = await start(driver, attempt.limits);
        results[attempt.name] = await run(sandbox, attempt, parts.environment);
        await sandbox.stop();
      }
    };
    let shared = await start(driver);
    const runShared = async (): Promise<void> => {
      for (const attempt of parts.attempts) {
        if (attempt.limits) continue;
        results[attempt.name] = await run(shared, attempt, parts.environment);
        if (shared.ended.aborted) shared = await start(driver);
      }
    };
    await Promise.all([runShared(), runAlone()]);
    return { results, stillWorks: (await run(shared, { command: 'echo works' }, {})) === 'exit=0\nworks\n\n' };
  } finally {
    await driver.close();
  }
}

const start = (driver: BubblewrapDriver, own: Partial<SandboxLimits> = {}): Promise<Sandbox> =>
  driver.start({ name: `escape-${randomUUID()}`, limits: { ...limits, ...own } });

async function run(
  sandbox: Sandbox,
  { command, timeoutMs = 60_000 }: Pick<EscapeAttempt, 'command' | 'timeoutMs'>,
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const { signal } = new AbortController();
  try {
    const { outcome, stderr, stdout } = await sandbox.exec({
      command,
      timeoutMs,
      environment,
      signal,
      maxOutputBytes: 20_000,
    });
    const end = outcome.type === 'timeout' ? 'timeout' : `exit=${outcome.exitCode}`;
    return `${end}\n${stdout.toString('latin1')}\n${stderr.toString('latin1')}`;
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return `ended=${error.problem}\n${error.message}`;
  }
}

/** With arguments, it is the program of another user. */
if (import.meta.main) {
  let input = '';
  for await (const piece of process.stdin) input += piece;
  process.stdout.write(JSON.stringify(await runAttempts(JSON.parse(input) as AttemptsToRun)));
}
