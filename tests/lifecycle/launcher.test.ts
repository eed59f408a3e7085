import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-launcher-'));
  for (const path of ['bin', 'package.json']) cpSync(join(root, path), join(folder, path), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

/** Makes the launcher believe that it runs on Node 20. */
const olderNode =
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})";

const launch = ({ isOlder = false, args = [] as string[], env = process.env }) =>
  spawnSync(process.execPath, [...(isOlder ? ['--import', olderNode] : []), 'bin/headgate.js', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env,
  });

/** Puts the Node of this test where the dev dependency `node` is installed. */
function installNode(): void {
  mkdirSync(join(folder, 'node_modules/node/bin'), { recursive: true });
  symlinkSync(process.execPath, join(folder, 'node_modules/node/bin/node'));
}

describe('in a checkout', () => {
  it('demands npm ci in one line if node_modules is missing', () => {
    write('src/cli.ts', '');
    for (const isOlder of [false, true]) {
      expect(launch({ isOlder })).toMatchObject({
        status: 1,
        stdout: '',
        stderr: 'headgate: The dependencies are not installed. Run: npm ci\n',
      });
    }
  });

  it('names the package that is missing from node_modules', () => {
    write('src/cli.ts', "import 'left-out';");
    write('node_modules/other/package.json', '{}');
    expect(launch({})).toMatchObject({
      status: 1,
      stderr: "headgate: The dependencies are incomplete: 'left-out' is not installed. Run: npm ci\n",
    });
  });

  it('demands npm rebuild node on an older Node if install scripts were skipped', () => {
    write('src/cli.ts', '');
    write('node_modules/node/package.json', '{}');
    const { status, stderr } = launch({ isOlder: true });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^headgate: Node 24 or newer is required, and this is v.*https:\/\/nodejs\.org, or run "npm rebuild node" .*\n$/,
    );
  });

  it('runs on the Node that npm installed if an older Node started it, and returns its exit code', () => {
    write('src/cli.ts', 'const text: string = process.argv.slice(2).join(); console.log(text); process.exitCode = 7;');
    installNode();
    expect(launch({ isOlder: true, args: ['doctor', '--probe'] })).toMatchObject({
      status: 7,
      stdout: 'doctor,--probe\n',
    });
  });

  it('passes signals on to that Node', async () => {
    write(
      'src/cli.ts',
      "process.on('SIGTERM', () => { console.log('closed'); process.exit(3); }); console.log('up'); setInterval(() => {}, 1000);",
    );
    installNode();
    const child = spawn(process.execPath, ['--import', olderNode, 'bin/headgate.js'], { cwd: folder });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    const ended = once(child, 'close'); // all its output is read
    await expect.poll(() => stdout).toBe('up\n');
    child.kill('SIGTERM');
    expect(await ended).toEqual([3, null]);
    expect(stdout).toBe('up\nclosed\n');
  });
});

describe('in an installed package', () => {
  it('runs the compiled program', () => {
    write('dist/cli.js', "console.log('compiled', ...process.argv.slice(2));");
    expect(launch({ args: ['--version'] })).toMatchObject({ status: 0, stdout: 'compiled --version\n' });
  });

  it('names the required version on an older Node', () => {
    write('dist/cli.js', 'throw new Error();');
    const { status, stderr } = launch({ isOlder: true });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^headgate: Node 24 or newer is required, and this is v.*Install it from .*org\.\n$/);
  });
});

describe('the compile cache', () => {
  const source = (path: string) => JSON.stringify(pathToFileURL(join(root, path)).href);
  const nameCache = "import { getCompileCacheDir } from 'node:module'; console.log(getCompileCacheDir());";
  const cache = () => join(folder, 'node_modules/.cache/headgate');
  /** Lists the complete files of the cache. Node writes them under other names first. */
  const listFiles = () =>
    readdirSync(cache(), { recursive: true, encoding: 'utf8' }).filter((file) => /\W[0-9a-f]{8}$/.test(file));
  const listInodes = () => listFiles().map((file) => statSync(join(cache(), file)).ino);
  beforeEach(() => mkdirSync(join(folder, 'node_modules')));

  it('is in node_modules, belongs to its user only, and is not written again while the code stays the same', () => {
    write('src/cli.ts', nameCache);
    const first = launch({ env: {} });
    expect(first).toMatchObject({ status: 0, stderr: '' });
    expect(dirname(first.stdout)).toBe(cache());
    expect(statSync(cache()).mode & 0o777).toBe(0o700);
    const written = listInodes();
    expect(written).not.toEqual([]);
    expect(launch({ env: {} })).toMatchObject({ status: 0, stdout: first.stdout });
    expect(listInodes()).toEqual(written);
  });

  it('is not used by an installed package', () => {
    write('dist/cli.js', nameCache);
    expect(launch({ env: {} })).toMatchObject({ status: 0, stdout: 'undefined\n' });
  });

  it('is also used on the Node that npm installed', () => {
    write('src/cli.ts', nameCache);
    installNode();
    expect(dirname(launch({ isOlder: true, env: {} }).stdout)).toBe(cache());
  });

  it('is that of NODE_COMPILE_CACHE, or none with NODE_DISABLE_COMPILE_CACHE', () => {
    write('src/cli.ts', nameCache);
    const other = join(folder, 'other');
    expect(dirname(launch({ env: { NODE_COMPILE_CACHE: other } }).stdout)).toBe(other);
    expect(launch({ env: { NODE_DISABLE_COMPILE_CACHE: '' } }).stdout).toBe('undefined\n');
    expect(existsSync(join(folder, 'node_modules/.cache'))).toBe(false);
  });

  it('is not used if another user can write it, or this one cannot', () => {
    write('src/cli.ts', nameCache);
    const expectNone = () =>
      expect(launch({ env: {} })).toMatchObject({ status: 0, stdout: 'undefined\n', stderr: '' });
    mkdirSync(cache(), { recursive: true });
    chmodSync(cache(), 0o720);
    expectNone();
    chmodSync(cache(), 0o700);
    chmodSync(dirname(cache()), 0o707);
    expectNone();
    chmodSync(dirname(cache()), 0o770);
    expectNone();
    if (process.getuid!() === 0) {
      chmodSync(dirname(cache()), 0o700);
      chownSync(cache(), 12_345, 12_345);
      expectNone();
    }
    rmSync(dirname(cache()), { recursive: true });
    write('node_modules/.cache', 'a file');
    expectNone();
  });

  it('is also used in a clone that the group of the user can write', () => {
    write('src/cli.ts', nameCache);
    mkdirSync(dirname(cache()));
    for (const path of [dirname(cache()), join(folder, 'node_modules')]) chmodSync(path, 0o775);
    expect(dirname(launch({ env: {} }).stdout)).toBe(cache());
  });

  it('does not follow a link to another folder', () => {
    write('src/cli.ts', nameCache);
    const other = join(folder, 'other');
    mkdirSync(other, { mode: 0o700 });
    for (const link of [dirname(cache()), cache()]) {
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(other, link);
      expect(launch({ env: {} })).toMatchObject({ status: 0, stdout: 'undefined\n', stderr: '' });
      expect(readdirSync(other)).toEqual([]);
      rmSync(link);
    }
  });

  it('ignores and replaces corrupt files', () => {
    write('src/cli.ts', 'const text: string = "runs"; console.log(text);');
    launch({ env: {} });
    const files = listFiles().map((file) => join(cache(), file));
    const valid = files.map((file) => readFileSync(file));
    const change = (bytes: Buffer, index: number) => bytes.with(index, bytes.at(index)! ^ 0x55);
    const corruptions: ((file: string) => void)[] = [
      (file) => truncateSync(file, 0),
      (file) => truncateSync(file, statSync(file).size - 1),
      (file) => writeFileSync(file, change(readFileSync(file), -1)), // the code
      (file) => writeFileSync(file, change(readFileSync(file), 4)), // the size of the code
    ];
    for (const corrupt of corruptions) {
      files.forEach(corrupt);
      expect(files.map((file) => readFileSync(file))).not.toEqual(valid);
      expect(launch({ env: {} })).toMatchObject({ status: 0, stdout: 'runs\n', stderr: '' });
      expect(files.map((file) => statSync(file).size)).toEqual(valid.map(({ length }) => length));
    }
  });

  it('starts again empty with more than 20,000 files', () => {
    write('src/cli.ts', '');
    write('node_modules/.cache/headgate/v1/0', '');
    for (let file = 1; file <= 20_000; file++) linkSync(join(cache(), 'v1/0'), join(cache(), `v1/${file}`));
    chmodSync(cache(), 0o700);
    expect(launch({ env: {} }).status).toBe(0);
    expect(existsSync(join(cache(), 'v1'))).toBe(false);
    expect(listFiles()).not.toEqual([]);
  });

  it('has the code of an idle gateway that is killed, unless the disk is full', async () => {
    write(
      'src/cli.ts',
      `import promises from 'node:fs/promises';
      import { syncBuiltinESMExports } from 'node:module';
      const free: number = Number(process.argv[2]);
      promises.statfs = async () => ({ bavail: free, bsize: 1 });
      syncBuiltinESMExports();
      const { releaseIdleMemory } = await import(${source('src/platform/idle-memory.ts')});
      globalThis.setInterval = (check) => setTimeout(check); // the first idle moment comes at once
      releaseIdleMemory({ begun: () => 0, open: () => 0, held: () => console.log('idle') ?? 1e9 });
      setTimeout(() => {}, 2 ** 31 - 1);`,
    );
    const run = async (bytes: number): Promise<number> => {
      const child = spawn(process.execPath, ['bin/headgate.js', String(bytes)], { cwd: folder, env: {} });
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      await expect.poll(() => stdout).toBe('idle\nidle\n'); // before and after
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      return listFiles().length;
    };
    expect(await run(64 * 1024 * 1024 - 1)).toBe(0);
    expect(await run(64 * 1024 * 1024)).toBeGreaterThan(0);
  });

  it('is that of the workers, too, unless it was removed', () => {
    write('src/worker.ts', nameCache);
    write(
      'src/cli.ts',
      `import { rmSync } from 'node:fs';
      import { createForker } from ${source('src/platform/cluster/fork.ts')};
      const fork = createForker(new URL('worker.ts', import.meta.url).pathname);
      await fork().ended;
      rmSync(${JSON.stringify(cache())}, { recursive: true });
      await fork().ended;`,
    );
    const [first, second] = launch({ env: {} }).stdout.split('\n');
    expect(dirname(first!)).toBe(cache());
    expect(second).toBe('undefined');
  });
});

describe('the Node version', () => {
  const { engines, scripts } = JSON.parse(read('package.json')) as {
    engines: { node: string };
    scripts: Record<string, string>;
  };

  it('is the same in the README, the guides and package.json', () => {
    const minimum = /\d+/.exec(engines.node)![0];
    for (const page of ['README.md', 'docs/guides/operating.md', 'docs/decisions/0001-run-from-source.md']) {
      const named = [...read(page).matchAll(/\bNode(?:\.js)? (\d+)\b/g)].map(([, version]) => version);
      expect(new Set(named), page).toEqual(new Set([minimum]));
    }
  });

  it('is checked by every script that starts Headgate', () => {
    for (const name of ['start', 'dev', 'headgate']) expect(scripts[name], name).toContain('bin/headgate.js');
  });
});
