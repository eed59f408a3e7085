import { execFile } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUp, makeFolder, openStream, run, startGateway } from './gateway-process.ts';

afterEach(cleanUp);

const shell = promisify(execFile);
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const isRoot = process.getuid?.() === 0;

describe('the first start', () => {
  it('prints the keys once, and a curl line that works unchanged', async () => {
    const folder = makeFolder();
    const first = await startGateway({ folder, config: null });
    const { stdout } = first.running;
    expect(stdout.match(/sk-rt-v1-[0-9a-f]{64}/g)).toHaveLength(2); // in the list and in the line to paste
    expect(stdout.match(/sk-rt-mgmt-v1-[0-9a-f]{64}/g)).toHaveLength(1);

    const line = /^curl [\s\S]*?[^\\]$/m.exec(stdout)![0];
    const answer = await shell('sh', ['-c', `${line} --silent --show-error`]);
    expect(JSON.parse(answer.stdout)).toMatchObject({ object: 'response', status: 'completed' });

    expect(await first.end()).toBe(0);
    const second = await startGateway({ folder, config: null });
    expect(second.running.stdout).toBe(`Headgate 0.1.0 is up: ${second.url}
  Base URL   ${second.url}/api/v1
  Data       ${join(folder, 'data')}
  Config     no file, so the defaults
  Providers  simulator (6 models and simulator/*)
  Next       add a provider: set its key, such as OPENAI_API_KEY, or run "headgate init" (in a clone, "headgate" is "npm run -s headgate --")
`);
    expect(second.running.stderr).toBe('');
  });

  it('creates the data folder and its files for its user alone', async () => {
    const gateway = await startGateway({ config: null });
    await (await gateway.get('/health')).text();
    const data = join(gateway.folder, 'data');
    expect(mode(data)).toBe('700');
    expect(mode(join(data, 'journal'))).toBe('700');
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['gateway.lock', 'gateway.pid', 'headgate.db', 'master.key']),
    );
    for (const { parentPath, name } of files) expect([name, mode(join(parentPath, name))]).toEqual([name, '600']);
  });

  it('keeps the keys for the start that succeeds if the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const refused = run({ config: null, args: ['--port', String(port)] });
    expect(await refused.ended).toBe(1);
    expect(refused).toMatchObject({
      stdout: '',
      stderr: `headgate: Port ${port} of 127.0.0.1 is in use. Stop the program that listens there, or choose another one with --port.\n`,
    });
    other.close();
    const gateway = await startGateway({ folder: refused.folder, config: null });
    expect(gateway.running.stdout).toMatch(/sk-rt-v1-[0-9a-f]{64}/);
  });
});

describe('a start on a data folder that', () => {
  it('another gateway uses: names its process, and does not touch it', async () => {
    const first = await startGateway();
    const second = run({ folder: first.folder });
    expect(await second.ended).toBe(1);
    expect(second.stdout).toBe('');
    expect(second.stderr).toBe(
      `headgate: The data folder ${join(first.folder, 'data')} is in use by the process ${first.running.child.pid}. ` +
        'Stop that gateway, or give this one a folder of its own with --data.\n',
    );
    expect((await first.post({ input: 'still here' })).status).toBe(200);
  });

  it('a killed gateway used: uses it, although another process has its id now', async () => {
    const first = await startGateway();
    await first.end('SIGKILL');
    const pidFile = join(first.folder, 'data', 'gateway.pid');
    expect(existsSync(pidFile)).toBe(true);
    writeFileSync(pidFile, String(process.pid)); // a running process that is no gateway
    const second = await startGateway({ folder: first.folder });
    expect(readFileSync(pidFile, 'utf8')).toBe(`${second.running.child.pid}\n`);
    expect((await second.post({ input: 'hi' })).status).toBe(200);
  });

  it('a killed gateway used: records the entries of the journal once, and skips a partly written last line', async () => {
    const first = await startGateway();
    const ids: string[] = [];
    for (let at = 0; at < 20; at++) {
      const answer = await first.post({ input: `question ${at}` });
      await answer.text();
      ids.push(answer.headers.get('x-generation-id')!);
    }
    const stream = await openStream(first.post({ input: 'streamed', stream: true }));
    ids.push(stream.id);
    await stream.readAll();
    await first.end('SIGKILL');

    const journal = join(first.folder, 'data', 'journal');
    const before = Object.fromEntries(readdirSync(journal).map((name) => [name, readFileSync(join(journal, name))]));
    for (const name of Object.keys(before)) appendFileSync(join(journal, name), '{"id":"gen-torn","createdAtMs":17');
    const second = await startGateway({ folder: first.folder });
    expect(second.running.stderr).toBe('');
    await second.end('SIGKILL');

    for (const [name, bytes] of Object.entries(before)) writeFileSync(join(journal, name), bytes); // and again
    const third = await startGateway({ folder: first.folder });
    for (const id of ids) {
      const entry = await third.get(`/api/v1/generation?id=${id}`);
      expect([id, entry.status]).toEqual([id, 200]);
    }
    expect((await third.get('/api/v1/generation?id=gen-torn')).status).toBe(404);
    expect(await third.end()).toBe(0);
    expect(readdirSync(journal)).toEqual([]);
  });

  it('contains a file that is no database: names it, and exits with 1', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data', 'headgate.db'), 'a letter to my aunt '.repeat(500));
    const running = run({ folder });
    expect(await running.ended).toBe(1);
    expect(running.stderr).toMatch(
      /^headgate: The file '.*headgate\.db' is damaged or is not a SQLite database .*backup.*\n$/,
    );
    expect(existsSync(join(folder, 'data', 'gateway.pid'))).toBe(false);
  });

  it('contains an empty master key: reports it and exits with 1, because another key would change every hash', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data', 'master.key'), '');
    const running = run({ folder });
    expect(await running.ended).toBe(1);
    expect(running.stderr).toMatch(/^headgate: The master key .*master\.key is empty\. Restore it .*\n$/);
  });

  it.skipIf(!isRoot)('it cannot write: reports it with the remedy, and exits with 1', async () => {
    const folder = makeFolder();
    chmodSync(folder, 0o755);
    const source = join(folder, 'headgate.json');
    const below = run({ folder, uid: 65534, args: ['--data', join(folder, 'not', 'there')] });
    expect(await below.ended).toBe(1);
    expect(below.stderr).toMatch(
      /^headgate: The data folder .* is not writable \(EACCES: .*\)\. Give the user .*--data\.\n$/,
    );
    chmodSync(source, 0o644);
    mkdirSync(join(folder, 'data'), { mode: 0o755 });
    const inside = run({ folder, config: null, uid: 65534, args: ['--config', source] });
    expect(await inside.ended).toBe(1);
    expect(inside.stderr).toMatch(/^headgate: The data folder .* is not writable \(.*\)\. Give the user .*--data\.\n$/);
    chownSync(join(folder, 'data'), 65534, 65534);
    const mended = await startGateway({ folder, config: null, uid: 65534, args: ['--config', source] });
    expect((await mended.post({ input: 'hi' })).status).toBe(200);
  });
});
