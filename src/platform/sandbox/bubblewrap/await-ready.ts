import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { SandboxError } from '../sandbox.ts';
import { ControlGroup } from './control-groups.ts';
import { explainFailure } from './explain-failure.ts';
import { NICENESS } from './session-priority.ts';

const START_MS = 30_000;

/**
 * Waits until a sandbox can run commands.
 *
 * @param group folder of its cgroup
 * @returns the id of process 1 on the host, with the limits of the group
 * @throws {SandboxError} that says what to install or change
 */
export async function awaitReady(child: ChildProcess, group: string | undefined): Promise<number> {
  const [, stdout, stderr, , facts, block] = child.stdio as NodeJS.ReadableStream[];
  for (const stream of child.stdio) stream?.on('error', () => {}); // the end of the process says more
  let complaint = '';
  let text = '';
  stderr!.on('data', (bytes: Buffer) => {
    complaint = (complaint + bytes.toString()).slice(0, 4096);
  });
  const failure = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(explainFailure(error, complaint)));
    child.once('close', () => reject(explainFailure(undefined, complaint)));
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SandboxError('crashed', 'The sandbox did not start in time.')), START_MS);
  });
  const ready = (async () => {
    const root = await new Promise<number>((resolve) => {
      facts!.on('data', (bytes: Buffer) => {
        text = (text + bytes.toString()).slice(0, 4096);
        const pid = /"child-pid": (\d+)/.exec(text)?.[1];
        if (pid !== undefined) resolve(Number(pid));
      });
    });
    setPriority(root, NICENESS);
    if (group !== undefined) await new ControlGroup(group).add(root); // before it runs anything
    writeFileSync(`/proc/${root}/oom_score_adj`, '1000'); // as root, commands cannot lower it again
    (block as unknown as NodeJS.WritableStream).end('x');
    await once(stdout!, 'data');
    return root;
  })();
  ready.catch(() => {});
  try {
    return await Promise.race([ready, failure, late]);
  } finally {
    clearTimeout(timer);
    failure.catch(() => {});
    stdout!.resume();
  }
}
