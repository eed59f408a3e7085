import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { readRows } from '../api/ledger-rows.ts';
import { cleanUp, makeFolder, openStream, run, startGateway } from './gateway-process.ts';

const mounts: string[] = [];
const unmount = () => mounts.splice(0).forEach((mount) => void execFileSync('umount', ['--lazy', mount]));
afterEach(async () => {
  unmount();
  await cleanUp();
});

/** Mounts a small file system. @returns the reason if that is not possible here */
function mountSmall(folder: string, size: string): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', folder], { stdio: 'pipe' });
    mounts.push(folder);
    return undefined;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim();
  }
}

/** Fills the disk to the last byte. @returns a function that frees the space */
function fill(folder: string): () => void {
  const path = join(folder, 'filler');
  const fd = openSync(path, 'a');
  for (let bytes = 65536; bytes >= 1; ) {
    try {
      if (writeSync(fd, Buffer.alloc(bytes)) < bytes) bytes = Math.floor(bytes / 2);
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
  closeSync(fd);
  return () => rmSync(path);
}

/** Frees the blocks of the write-ahead log, which the migrations have filled. Commits would use them on a full disk. */
function emptyWriteAheadLog(folder: string): void {
  const database = new DatabaseSync(join(folder, 'headgate.db'));
  expect(database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
  database.close();
}

const ask = async (gateway: TestGateway, served: string[]) => {
  const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' });
  const body = await response.json();
  if (response.status === 200) served.push(response.headers.get('x-generation-id')!);
  return { status: response.status, headers: response.headers, body };
};
const main = '00000000-0000-4000-8000-0000000000a1';
/** Requests with a response. A request that was rejected because the disk is full may have an entry, too. */
const readAnswered = (folder: string) => readRows(folder).filter(({ outcome }) => outcome === 'completed');

const probe = mountSmall(makeFolder(), '64k');
unmount();
await cleanUp();
const skipped = probe === undefined ? '' : ` (skipped: no tmpfs can be mounted: ${probe})`;

describe.skipIf(skipped !== '')(`a full disk${skipped}`, () => {
  it('at the first start is reported as a full disk', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    mountSmall(join(folder, 'data'), '200k');
    const running = run({ folder });
    expect(await running.ended).toBe(1);
    expect(running.stderr).toBe(
      'headgate: The disk of the database is full (database or disk is full). Free space on it.\n',
    );
  });

  it('next to an existing store is reported to a command, too', async () => {
    const folder = makeFolder();
    mountSmall(folder, '5m');
    const keys = async () => {
      let stderr = '';
      const terminal = {
        stdout: { write: () => true },
        stderr: { write: (text: string) => (stderr += text) },
        env: {},
      };
      return { code: await runCli(['keys', 'create', '--data', '.'], { ...terminal, cwd: folder }), stderr };
    };
    expect(await keys()).toMatchObject({ code: 0 });
    fill(folder);
    expect(await keys()).toMatchObject({ code: 1, stderr: expect.stringMatching(/disk.* full.*Free /) });
  });

  it('under the data folder: new requests get 503 until there is space, and each one is recorded once', async () => {
    const folder = makeFolder();
    mountSmall(folder, '4m');
    const gateway = await testGateway({}, folder);
    const served: string[] = [];
    expect((await ask(gateway, served)).status).toBe(200);
    await expect.poll(async () => (await gateway.gateway.storage.ledger.readTotals(main)).entries).toBe(1);

    emptyWriteAheadLog(folder);
    const makeRoom = fill(folder);
    // A commit can free a few blocks, so that another request is served between two that are not.
    let refused = await ask(gateway, served);
    const reject = async (): Promise<number[]> => {
      refused = await ask(gateway, served);
      return [refused.status, (await gateway.get('/ready')).status];
    };
    await expect.poll(reject, { interval: 5 }).toEqual([503, 503]);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(refused.body).toMatchObject({ error: { code: 503, message: expect.stringContaining('disk') } });
    expect((await gateway.get('/health')).status).toBe(200);
    const known = await gateway.get(`/generation?id=${served.at(-1)}`);
    expect(await known.json()).toMatchObject({ data: { id: served.at(-1) } }); // from memory

    makeRoom();
    await expect.poll(async () => (await gateway.get('/ready')).status).toBe(200);
    expect((await ask(gateway, served)).status).toBe(200);
    await gateway.close({ keepData: true });

    const again = await testGateway({}, folder);
    expect(
      readAnswered(folder)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(served.toSorted());
    for (const id of served) expect((await again.get(`/generation?id=${id}`)).status).toBe(200);
    await again.close({ keepData: true });
  });

  it('makes every worker report at /ready that requests are rejected, until there is space', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    mountSmall(join(folder, 'data'), '6m');
    const gateway = await startGateway({ folder, args: ['--workers', '2'] });
    const answers = (count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const { status } = await gateway.post({ model: 'simulator/echo', input: 'hi' });
          const ready = await gateway.get('/ready');
          return [status, ready.status, ((await ready.json()) as { error?: { message: string } }).error?.message];
        }),
      );
    expect((await answers(4)).every(([status, ready]) => status === 200 && ready === 200)).toBe(true);
    emptyWriteAheadLog(join(folder, 'data'));
    const makeRoom = fill(join(folder, 'data'));
    // A commit can free a few blocks, so that a later request is served. The workers fail one after the other.
    let texts: unknown[] = [];
    const reject = async () => {
      const rejected = (await answers(4)).filter(([status, ready]) => status === 503 && ready === 503);
      texts = rejected.map(([, , text]) => text);
      return rejected.length;
    };
    await expect.poll(reject, { interval: 5 }).toBe(4);
    for (const text of texts) expect(text).toMatch(/^The ledger cannot be written by [12] of 2 workers since /);
    makeRoom();
    await expect.poll(async () => (await gateway.get('/ready')).status).toBe(200); // without a request
    expect((await answers(4)).every(([status, ready]) => status === 200 && ready === 200)).toBe(true);
  });

  it('under the journal alone: entries go straight to the store, and each one is recorded once', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'journal'));
    mountSmall(join(folder, 'journal'), '64k');
    const gateway = await testGateway({}, folder);
    const served: string[] = [];
    const makeRoom = fill(join(folder, 'journal'));
    const statuses = new Set<number>();
    await expect
      .poll(async () => statuses.add((await ask(gateway, served)).status).has(503), { interval: 1 })
      .toBe(true);
    expect((await gateway.get('/ready')).status).toBe(503); // the start of a request cannot be written
    await ask(gateway, served);
    makeRoom();
    await expect.poll(async () => (await gateway.get('/ready')).status).toBe(200);
    await expect.poll(async () => (await ask(gateway, served)).status).toBe(200);
    await expect.poll(() => readAnswered(folder)).toHaveLength(served.length);
    await gateway.close({ keepData: true });
  });

  it('is logged once if it begins and once if it ends', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    mountSmall(join(folder, 'data'), '4m');
    const gateway = await startGateway({ folder, env: { HEADGATE_LOG_LEVEL: 'info' } });
    const post = async () => (await gateway.post({ input: 'hi' })).status;
    const count = (line: string) => gateway.running.stderr.split(line).length - 1;
    const makeRoom = fill(join(folder, 'data'));
    await expect.poll(post, { interval: 5 }).toBe(503);
    for (let time = 0; time < 3; time++) await post();
    expect(count('journal write recovered')).toBe(0);
    makeRoom();
    await expect.poll(post).toBe(200);
    await post();
    expect(await gateway.end()).toBe(0);
    expect(count('journal write failed')).toBe(1);
    expect(count('journal write recovered')).toBe(1);
  });

  it('at the start: reports it and exits with 1, and starts once there is space', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    mountSmall(join(folder, 'data'), '4m');
    const makeRoom = fill(join(folder, 'data'));
    const refused = run({ folder });
    expect(await refused.ended).toBe(1);
    expect(refused.stderr).toMatch(
      /^headgate: The data folder .* is not writable \(ENOSPC.*Free space on its disk\.\n$/,
    );
    makeRoom();
    const gateway = await startGateway({ folder });
    expect((await gateway.post({ input: 'hi' })).status).toBe(200);
  });

  it.each([
    'SIGTERM',
    'SIGKILL',
  ] as const)('until the end, %s: what had gone out is recorded in full', async (signal) => {
    const folder = makeFolder();
    mkdirSync(join(folder, 'data'));
    mountSmall(join(folder, 'data'), '4m');
    const gateway = await startGateway({ folder });
    // The journal has reserved the space of their entries.
    const streams = await Promise.all(
      Array.from({ length: 40 }, () => openStream(gateway.post({ input: '[[slow 30]] [[words 10]]', stream: true }))),
    );
    const makeRoom = fill(join(folder, 'data'));
    for (const stream of streams) expect(await stream.readAll()).toContain('response.completed');
    // New requests are rejected before a provider is called.
    const served = streams.map(({ id }) => id);
    const post = async () => {
      const answer = await gateway.post({ input: 'hi' });
      await answer.arrayBuffer();
      if (answer.status === 200) served.push(answer.headers.get('x-generation-id')!);
      return answer.status;
    };
    await expect.poll(post, { interval: 1 }).toBe(503);
    expect(await gateway.end(signal)).toBe(signal === 'SIGTERM' ? 0 : 'SIGKILL');
    makeRoom();
    const again = await startGateway({ folder });
    await again.end();
    const answered = readAnswered(join(folder, 'data'));
    expect(answered.map(({ id }) => id).sort()).toEqual(served.sort());
    expect(answered.filter(({ estimated }) => estimated !== 0)).toEqual([]);
  });
});
