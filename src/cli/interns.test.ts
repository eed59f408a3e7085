import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ScriptedHost } from '../testing/scripted-runtime.ts';
import { type TestGateway, testGateway } from '../testing/test-gateway.ts';
import { runCli } from './program.ts';

const host = new ScriptedHost();
let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await testGateway({}, undefined, { internRuntime: host.createRuntime() });
  folder = gateway.dataDir;
  writeFileSync(join(folder, 'cli.json'), '{}');
});
afterAll(() => gateway.close());

async function call(...args: string[]) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const source = ['--config', join(folder, 'cli.json'), '--data', folder, '--workspace', 'main'];
  const terminal = { stdout: write('stdout'), stderr: write('stderr'), env: {}, cwd: folder };
  return { code: await runCli(['interns', ...args, ...source], terminal), ...printed };
}
async function succeed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('headgate:') });
  return stdout;
}
/** Runs a command that only says what it did. */
async function say(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  return stderr;
}

it('creates, starts with progress, suspends, resumes and deletes an intern', async () => {
  expect(await say('list')).toContain('There are no interns.');
  const args = ['create', 'scout', '--member', 'ada', '--description', 'Reads.', '--provision', '--json'];
  const created = await call(...args);
  expect(created).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^Created the intern "scout"\.\n1\/4 Create credentials\n2\/4 Prepare workspace disk\n3\/4 Start runtime\n4\/4 Health check\nRunning at scout-[0-9a-f]{8}\.interns\.localhost\.\n$/,
    ),
  });
  const { id } = JSON.parse(created.stdout) as { id: string };
  expect((await call(...args)).stderr).toMatch(/^There already is the intern "scout"\.\n/);
  const [intern] = JSON.parse(await succeed('list', '--json')) as unknown[];
  expect(intern).toMatchObject({ id, name: 'scout', status: 'running', progress: null });
  expect(await succeed('list', '--member', 'ada')).toMatch(/NAME +ID +STATUS.*\nscout .* running +- /);
  expect(await say('suspend', 'scout')).toBe('Suspended the intern "scout".\n');
  expect(JSON.parse(await succeed('show', id, '--json'))).toMatchObject({
    status: 'stopped',
    vault_id: expect.any(String),
  });
  expect(await say('provision', 'scout')).toMatch(/^Starting the intern "scout"\.\n(?:.*\n)*Running at scout-/);
  expect(await say('delete', 'scout')).toBe('Deleting the intern "scout".\n');
});

it('says why a start or a change fails', async () => {
  host.before = (method) => {
    if (method === 'start') throw new Error('The image is missing.');
  };
  const failed = await call('create', 'broken', '--member', 'ada', '--provision');
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('is failed: The image is missing.') });
  expect((await call('suspend', 'broken')).stderr).toContain('Its status does not allow suspend');
  expect((await call('create', 'x', '--member', 'ada')).stderr).toContain('name');
  expect((await call('create', 'other', '--member', 'nobody')).stderr).toContain('There is no member "nobody".');
  expect((await call('show', 'none')).stderr).toContain('There is no intern "none"');
  expect((await call('create', 'other')).stderr).toContain('Name the member that the intern belongs to with --member.');
  expect(await say('provision', 'broken', '--no-wait')).toBe('Starting the intern "broken".\n');
});

it('manages the schedules of an intern', async () => {
  await succeed('create', 'timer', '--member', 'ada');
  expect(await say('schedules', 'list', 'timer')).toContain('There are no schedules.');
  const add = (...args: string[]) => call('schedules', 'create', 'timer', ...args);
  const hook = await add('--webhook', '--input', 'Triage.', '--json');
  expect(hook).toMatchObject({ code: 0, stderr: expect.stringContaining('Schedules are off') });
  expect((JSON.parse(hook.stdout) as { path: string }).path).toMatch(
    /^\/api\/v1\/interns\/[0-9a-f-]{36}\/webhooks\/hgw_[\w-]{43}$/,
  );
  const cron = await add('--cron', '0 9 * * *', '--time-zone', 'Asia/Tokyo', '--input', 'Go.');
  expect(cron.stdout).toMatch(/^next_due_at +.*T00:00:00\.000Z$/m);
  expect((await add('--cron', 'daily', '--input', 'Go.')).stderr).toContain('five fields');
  const [, schedule] = JSON.parse(await succeed('schedules', 'list', 'timer', '--json')) as { id: string }[];
  expect(await succeed('schedules', 'pause', 'timer', schedule!.id)).toMatch(/^paused +true$/m);
  expect(await succeed('schedules', 'list', 'timer')).toMatch(/cron +0 9 \* \* \* +Asia\/Tokyo +yes /);
  expect(await succeed('schedules', 'resume', 'timer', schedule!.id)).toMatch(/^paused +false$/m);
  expect(await say('schedules', 'delete', 'timer', schedule!.id)).toBe(`Deleted the schedule "${schedule!.id}".\n`);
  expect((await call('schedules', 'delete', 'timer', schedule!.id)).stderr).toContain('no schedule with this id');
});
