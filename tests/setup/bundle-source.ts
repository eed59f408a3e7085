import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Plugin } from 'vite';
import { writeBundles } from './write-bundles.ts';

/*
 * A gateway that starts as a process loads 1,500 modules of src/. With one bundle of them and two libraries, the CPU time of
 * a start falls by a third again. The modules keep the URLs of their sources. `npm start` runs src/ itself, also in tests.
 */
const root = join(import.meta.dirname, '../..');
const cache = join(root, 'node_modules/.cache/headgate-tests');
const programs = {
  cli: join(root, 'src/cli.ts'),
  worker: join(root, 'src/workers/worker.ts'),
  'serve-until-killed': join(root, 'tests/api/serve-until-killed.ts'),
};
const OLD_MS = 3_600_000;

/** Returns the folder of the bundle of the current sources. Names, sizes and times of the files are its key. */
function nameFolder(): string {
  const hash = createHash('sha256');
  for (const file of globSync(['src/**/*.{ts,json}', 'package-lock.json', 'tests/setup/*'], { cwd: root }).sort()) {
    const { size, mtimeMs } = statSync(join(root, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return join(cache, `source-${hash.digest('hex').slice(0, 16)}`);
}

/**
 * Bundles src/, unless another process of the tests has done so or does so.
 *
 * @returns `NODE_OPTIONS` of a process that loads the bundle in place of src/
 */
export async function bundleSource(): Promise<string> {
  const folder = nameFolder();
  const lock = `${folder}.lock`;
  while (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    if (isCreated(lock)) {
      try {
        await promisify(execFile)(process.execPath, [import.meta.filename, folder], { cwd: root });
      } finally {
        rmSync(lock, { recursive: true, force: true }); // another process removes the lock if this took long
      }
    } else await delay(50);
  }
  return `--import=${pathToFileURL(join(folder, 'register-bundles.mjs')).href}`;
}

/** Whether the lock was created now. That of a process that was killed is removed. */
function isCreated(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const found = statSync(lock, { throwIfNoEntry: false });
    if (found && Date.now() - found.mtimeMs > 60_000) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

/** Gives each module the URL that it has without the bundle. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(join(root, 'src/')) || !code.includes('import.meta.')) return;
    return code
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
      .replaceAll('import.meta.filename', JSON.stringify(id));
  },
};

async function main(folder: string): Promise<void> {
  for (const name of readdirSync(cache).filter((each) => each.startsWith('source-'))) {
    const old = join(cache, name);
    const found = statSync(old, { throwIfNoEntry: false });
    if (found && Date.now() - found.mtimeMs > OLD_MS) rmSync(old, { recursive: true, force: true });
  }
  await writeBundles({
    folder,
    input: programs,
    bundles: Object.entries(programs).map(([name, file]) => [pathToFileURL(file).href, `./${name}.mjs`]),
    packages: ['typebox', 'kysely'],
    plugins: [keepUrls],
  });
}

if (import.meta.main) await main(process.argv[2]!);
