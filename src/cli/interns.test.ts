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
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

it('creates, starts with progress, suspends, resumes and deletes an intern', async () => {
  expect(await succeed('list')).toContain('There are no interns.');
  const created = await succeed('create', 'scout', '--member', 'ada', '--description', 'Reads.', '--provision');
  expect(created).toMatch(
    /^Created: scout \([0-9a-f-]{36}\)\.\n1\/4 Create credentials\n2\/4 Prepare workspace disk\n3\/4 Start runtime\n4\/4 Health check\nRunning at scout-[0-9a-f]{8}\.interns\.localhost\.\n$/,
  );
  expect(await succeed('create', 'scout', '--member', 'ada', '--description', 'Reads.', '--provision')).toMatch(
    /^Exists already: scout/,
  );
  const [intern] = JSON.parse(await succeed('list', '--json')) as { id: string; status: string }[];
  expect(intern).toMatchObject({ name: 'scout', member: 'ada', status: 'running', step: null });
  expect(await succeed('list')).toMatch(/NAME +ID +MEMBER +STATUS.*\nscout .* ada +running +default /);
  expect(await succeed('suspend', 'scout')).toBe('Suspended scout.\n');
  expect(JSON.parse(await succeed('show', intern!.id, '--json'))).toMatchObject({
    status: 'stopped',
    vault_id: expect.any(String),
  });
  expect(await succeed('provision', 'scout')).toContain('Running at scout-');
  expect(await succeed('delete', 'scout')).toContain('Deleting scout');
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
  expect(await succeed('provision', 'broken', '--no-wait')).toBe('Queued.\n');
});

it('manages the schedules of an intern', async () => {
  await succeed('create', 'timer', '--member', 'ada');
  expect(await succeed('schedules', 'list', 'timer')).toContain('It has no schedules.');
  const add = (...args: string[]) => call('schedules', 'create', 'timer', ...args);
  const hook = await add('--webhook', '--input', 'Triage.');
  expect(hook).toMatchObject({ code: 0, stderr: expect.stringContaining('Schedules are off') });
  expect(hook.stdout).toMatch(/^\/api\/v1\/interns\/[0-9a-f-]{36}\/webhooks\/hgw_[\w-]{43}\n$/);
  const cron = await add('--cron', '0 9 * * *', '--time-zone', 'Asia/Tokyo', '--input', 'Go.');
  expect(cron.stdout).toMatch(/T00:00:00\.000Z\n$/);
  expect((await add('--cron', 'daily', '--input', 'Go.')).stderr).toContain('five fields');
  const [, schedule] = JSON.parse(await succeed('schedules', 'list', 'timer', '--json')) as { id: string }[];
  expect(await succeed('schedules', 'pause', 'timer', schedule!.id)).toBe('Paused.\n');
  expect(await succeed('schedules', 'list', 'timer')).toMatch(/cron +0 9 \* \* \* Asia\/Tokyo +paused +none/);
  expect(await succeed('schedules', 'resume', 'timer', schedule!.id)).toBe('Resumed.\n');
  expect(await succeed('schedules', 'delete', 'timer', schedule!.id)).toBe('Deleted.\n');
  expect((await call('schedules', 'delete', 'timer', schedule!.id)).stderr).toContain('no schedule with this id');
});
