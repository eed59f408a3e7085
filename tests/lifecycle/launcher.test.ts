import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
