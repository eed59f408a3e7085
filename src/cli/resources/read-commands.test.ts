import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../program.ts';
import { resourceCommands } from './find-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

async function call(argv: string[]) {
  const [stdout, stderr] = [[] as string[], [] as string[]];
  const into = (texts: string[]) => ({ write: (text: string) => texts.push(text) > 0 });
  const code = await runCli(argv, { stdout: into(stdout), stderr: into(stderr), env: {}, cwd });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

beforeAll(async () => {
  expect((await call(['keys', 'create', '--name', 'app'])).code).toBe(0);
});

/** Commands that read, and need neither a name nor an option. */
const reading = resourceCommands.filter(
  ({ method, params, options, response }) =>
    method === 'GET' && params.length === 0 && !options.some(({ isRequired }) => isRequired) && response !== 'content',
);

describe('without a configuration', () => {
  it('there are several of them', () => {
    expect(reading.length).toBeGreaterThan(8);
  });

  it.each(reading.map(({ name }) => name))('headgate %s prints what the store has', async (name) => {
    expect(await call(name.split(' '))).toMatchObject({ code: 0 });
    const { code, stdout } = await call([...name.split(' '), '--json']);
    expect(code).toBe(0);
    expect(() => JSON.parse(stdout) as unknown).not.toThrow();
  });

  it('changes settings of alerts and their webhooks', async () => {
    const hook = ['alerts', 'webhooks', 'set', 'ops', '--url', 'https://alerts.example.com/t0k3n'];
    expect(await call(hook)).toMatchObject({ code: 0, stderr: 'Saved the webhook "ops".\n' });
    const changed = await call(['alerts', 'settings', 'update', '--quiet-minutes', '5']);
    expect(changed).toMatchObject({ code: 0, stderr: 'Changed the settings.\n' });
    const shown = await call(['alerts', 'settings', 'show', '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ quiet_minutes: 5, webhooks: [{ id: 'ops', source: 'api' }] });
    expect(shown.stdout).not.toContain('t0k3n');
  });
});
