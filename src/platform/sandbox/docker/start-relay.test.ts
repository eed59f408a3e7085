import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RemoteContainer } from '../remote/remote-process.ts';
import { startRelay } from './start-relay.ts';

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-relay-'));
  children = [];
});
afterEach(() => {
  for (const { pid } of children) {
    try {
      process.kill(-pid!, 'SIGKILL');
    } catch {} // it has ended
  }
  rmSync(folder, { recursive: true });
});

/** A program that works if it is tried, and that runs `script` as the relay. */
function install(name: string, script: string, tried = 'exit 0'): void {
  const isTrial = `case "$1 $*" in -M* | *' -c import'* | '-e -e 0') ${tried};; esac`;
  writeFileSync(join(folder, name), `#!/bin/bash\n${isTrial}\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Runs the processes of a container on the host, with the installed programs alone. */
const container: RemoteContainer = {
  async start([, ...rest], listener) {
    const child = spawn('/bin/bash', rest, { env: { PATH: folder }, detached: true });
    children.push(child);
    child.stdout.on('data', (bytes: Buffer) => listener.output('stdout', bytes));
    child.stderr.on('data', (bytes: Buffer) => listener.output('stderr', bytes));
    child.once('close', () => listener.closed());
    return { write: async () => {}, close: () => void child.kill('SIGKILL') };
  },
  findEnd: async () => undefined,
  remove: async () => {},
};
const start = (): Promise<void> => startRelay(container, new AbortController().signal);
/** Works only as the chosen program, with the path of the socket. It keeps running: a relay that ends has failed. */
const works = 'for last; do :; done; [[ $last == /run/headgate-proxy.sock ]] && echo ready && exec /bin/sleep 1000';
const fails = 'echo wrong; exit 1';

describe('the relay in a container', () => {
  it.each([
    ['Perl first', { perl: works, python3: fails, node: fails }],
    ['Python without Perl', { python3: works, node: fails }],
    ['Node without the others', { node: works }],
  ])('runs with %s', async (_, programs) => {
    for (const [name, script] of Object.entries(programs)) install(name, script);
    await start();
  });

  it('does not run with a Perl that lacks its modules', async () => {
    install('perl', fails, 'exit 2');
    install('python3', works);
    await start();
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'the image has none of its programs',
      {},
      'The image of the sandbox has none of Perl, Python 3 and Node, one of which a network_policy needs.',
    ],
    [
      'the socket cannot be opened',
      { perl: 'exit 3' },
      'The sandbox cannot connect to the socket of its network proxy. With gVisor, start runsc with --host-uds=open.',
    ],
    ['it fails otherwise', { perl: 'exit 1' }, 'The relay to the network proxy does not start.'],
    ['it says something else', { perl: fails }, 'The relay to the network proxy does not start.'],
  ])('does not start if %s', async (_, programs, message) => {
    for (const [name, script] of Object.entries(programs)) install(name, script);
    await expect(start()).rejects.toMatchObject({ name: 'SandboxError', problem: 'unavailable', message });
  });
});
