import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { EntryToWrite, SandboxEntry } from '../sandbox.ts';
import { HomeFolder } from './home-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-home-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let homes = 0;

function openHome() {
  const path = join(folder, String(++homes));
  mkdirSync(path);
  return { path, home: new HomeFolder(path, undefined) };
}

/** Counts the turns of the event loop that begin while work runs. */
async function countTurns(work: Promise<void>): Promise<number> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const count = (): void => {
    turns++;
    next = setImmediate(count);
  };
  next = setImmediate(count);
  await work;
  clearImmediate(next);
  return turns;
}

async function* createLinks(count: number): AsyncGenerator<EntryToWrite> {
  for (let index = 0; index < count; index++) {
    yield { path: Buffer.from(`d/${index}`), kind: 'link', mode: 0o777, modifiedAtMs: 1, target: Buffer.from('x') };
  }
}

async function readPaths(listing: AsyncIterable<SandboxEntry[]>): Promise<string[]> {
  const paths: string[] = [];
  for await (const batch of listing) for (const { path } of batch) paths.push(path.toString());
  return paths;
}

/** The processes `find` of this process. */
const listFinds = (): number[] =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1')
    .split(' ')
    .filter((pid) => pid !== '' && readName(pid) === 'find\n')
    .map(Number);

function readName(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'latin1');
  } catch {
    return ''; // it has ended
  }
}

describe.runIf(process.platform === 'linux')('the home folder of a sandbox', () => {
  it('lets other work run while it writes and removes many entries', async () => {
    const { path, home } = openHome();
    expect(await countTurns(home.write(createLinks(4000)))).toBeGreaterThan(2);
    expect(readdirSync(join(path, 'd'))).toHaveLength(4000);
    expect(await countTurns(home.remove([Buffer.from('d')]))).toBeGreaterThan(2);
    expect(readdirSync(path)).toEqual([]);
    home.close();
  });

  it('writes nothing after it is closed', async () => {
    const { home } = openHome();
    home.close();
    await expect(home.write(createLinks(1))).rejects.toThrow('closed');
    await expect(home.remove([Buffer.from('d')])).rejects.toThrow('closed');
    await expect(home.read(Buffer.from('d'))).rejects.toThrow('closed');
  });

  it('is made accessible again if a command took the permissions of the folder itself away', async () => {
    const { path, home } = openHome();
    writeFileSync(join(path, 'f'), 'text');
    chmodSync(path, 0o300);
    expect(await readPaths(home.list())).toEqual(['f']);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    home.close();
  });

  it('is not listed in part if the listing is killed', async () => {
    const { path, home } = openHome();
    for (let index = 0; index < 3000; index++) writeFileSync(join(path, `${index}${'x'.repeat(200)}`), '');
    const listing = home.list();
    await listing.next();
    const finds = listFinds();
    expect(finds).toHaveLength(1);
    process.kill(finds[0]!, 'SIGKILL');
    await expect(readPaths(listing)).rejects.toThrow('SIGKILL');
    home.close();
  });

  it('is measured below the deepest folder that is saved, and folders as deep are not removed', async () => {
    const { path, home } = openHome();
    const deepest = join(path, 'd/'.repeat(230));
    mkdirSync(deepest, { recursive: true });
    writeFileSync(join(deepest, 'f'), Buffer.alloc(1_000_000));
    const size = await home.measure(unlimited);
    expect(size.entries).toBe(231);
    expect(size.bytes).toBeGreaterThan(1_000_000);
    const listed = await readPaths(home.list());
    expect([listed.length, listed.at(-1)]).toEqual([201, 'd/'.repeat(201).slice(0, -1)]);
    await expect(home.remove([Buffer.from('d')])).rejects.toThrow('too many levels');
    expect(readdirSync(deepest)).toEqual(['f']);
    home.close();
  });

  it.runIf(process.getuid?.() !== 0)('is measured in folders that commands have made unreadable', async () => {
    const { path, home } = openHome();
    mkdirSync(join(path, 'a/b'), { recursive: true });
    writeFileSync(join(path, 'a/b/f'), Buffer.alloc(1_000_000));
    for (const name of ['a/b', 'a']) chmodSync(join(path, name), 0o300);
    const { bytes, entries } = await home.measure(unlimited);
    expect([entries, bytes > 1_000_000]).toEqual([3, true]);
    home.close();
  });

  it('keeps folders that their owner can read as they are, and lists them once', async () => {
    const { path, home } = openHome();
    mkdirSync(join(path, 'd'));
    writeFileSync(join(path, 'd/f'), 'text');
    chmodSync(join(path, 'd'), 0o500);
    expect(await readPaths(home.list())).toEqual(['d', 'd/f']);
    (await home.read(Buffer.from('d/f')))?.destroy();
    expect(statSync(join(path, 'd')).mode & 0o777).toBe(0o500);
    await home.remove([Buffer.from('d/f')]);
    expect(readdirSync(join(path, 'd'))).toEqual([]);
    home.close();
  });

  it.runIf(process.getuid?.() !== 0)('cannot be measured with too many of them', async () => {
    const { path, home } = openHome();
    const names = Array.from({ length: 12 }, (_, index) => 'd/'.repeat(index + 1));
    for (const name of names) mkdirSync(join(path, name));
    for (const name of names.toReversed()) chmodSync(join(path, name), 0o300);
    await expect(home.measure(unlimited)).rejects.toThrow(RangeError);
    for (const name of names) chmodSync(join(path, name), 0o700);
    home.close();
  });
});

const unlimited = { bytes: Number.POSITIVE_INFINITY, entries: 1000 };
