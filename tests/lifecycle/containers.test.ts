import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { testGateway, testKeys } from '../../src/testing/index.ts';
import { cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

/*
 * Commands of a model in real sandboxes, while the processes of the gateway are killed.
 */

afterEach(cleanUp);

interface Item {
  container_id?: string;
  output?: { stdout: string; outcome: object }[];
  error?: string;
}

// Workers outlive a killed primary for the grace time.
const config = { server: { shutdown_grace_ms: 500 }, tools: { sandbox: { driver: 'bubblewrap' } } };

function writeRequest(session: string, ...commands: string[]): object {
  const input = `[[call router:shell ${JSON.stringify({ commands })}]] [[then]] [[say Done.]]`;
  return { model: 'simulator/echo', session_id: session, input, tools: [{ type: 'router:shell' }] };
}

async function shell(gateway: Pick<GatewayProcess, 'url'>, session: string, ...commands: string[]): Promise<Item> {
  const response = await fetch(`${gateway.url}/api/v1/responses`, {
    method: 'POST',
    // With a connection of its own, the next worker takes the next request.
    headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(writeRequest(session, ...commands)),
  });
  const { output, error } = (await response.json()) as { output: Item[]; error?: unknown };
  expect(response.status, JSON.stringify(error)).toBe(200);
  return output[0]!;
}
const outputOf = ({ output, error }: Item): string => error ?? output!.map(({ stdout }) => stdout).join('');

/** The processes of this host whose command line contains the text. */
const listProcesses = (text: string): string[] =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text);
    } catch {
      return false; // it has ended
    }
  });

const probe = await testGateway(config);
const tried = await probe.post('/responses', writeRequest('probe', 'true'));
const problem = ((await tried.json()) as { output: Item[] }).output[0]?.error;
await probe.close();

describe.skipIf(problem !== undefined)(
  `containers of processes that are killed${problem ? ` (skipped: ${problem})` : ''}`,
  () => {
    /** Runs a command that never ends, with a process in the background. @returns the text in their command lines */
    async function runForever(gateway: GatewayProcess, session: string): Promise<string> {
      const mark = `mark-${randomUUID()}`;
      const command = `(exec -a ${mark} sleep 600) & exec -a ${mark} sleep 600`;
      void shell(gateway, session, command).catch(() => {}); // its gateway is killed
      await expect.poll(() => listProcesses(mark).length).toBeGreaterThanOrEqual(2);
      return mark;
    }

    it.each([
      ['one process', []],
      ['two workers', ['--workers', '2']],
    ])('leave nothing running and lose no saved file, with %s', async (_, args) => {
      let gateway = await startGateway({ config, args });
      const { folder } = gateway;
      const saved = await shell(
        gateway,
        'kill',
        'mkdir dir',
        'echo saved > dir/a',
        'ln -s dir link',
        'chmod 600 dir/a',
      );
      expect(saved).toMatchObject({ container_id: 'sess_kill' });
      const mark = await runForever(gateway, 'kill');
      await gateway.end('SIGKILL');
      await expect.poll(() => listProcesses(mark)).toEqual([]);

      gateway = await startGateway({ folder, config, args });
      const next = await shell(gateway, 'kill', 'cat link/a', 'stat -c %a dir/a');
      expect(outputOf(next)).toBe('saved\n600\n');
    });

    it('move between workers with their files', async () => {
      const gateway = await startGateway({ config, args: ['--workers', '2'] });
      for (let count = 1; count <= 6; count++) {
        expect(outputOf(await shell(gateway, 'moving', `echo ${count} >> log`, 'wc -l < log'))).toBe(`${count}\n`);
      }
      await Promise.all([1, 2, 3, 4].map((name) => shell(gateway, 'moving', `echo ${name} > file-${name}`)));
      expect(outputOf(await shell(gateway, 'moving', 'ls | tr "\\n" " "'))).toBe('file-1 file-2 file-3 file-4 log ');
    });
  },
);
