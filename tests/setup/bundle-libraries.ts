import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/*
 * A gateway that starts as a process loads 2,700 modules, 940 of them from two libraries. With a bundle of both, the CPU
 * time of a start falls by a quarter. src/ runs unchanged.
 */
const root = join(import.meta.dirname, '../..');
const libraries = ['typebox', 'kysely'];
const entries = ['typebox', 'typebox/compile', 'typebox/schema', 'typebox/value', 'kysely', 'kysely/migration'];

const readVersion = (name: string): string =>
  (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;

/** The bundles of these versions. */
const folder = join(
  root,
  'node_modules/.cache/headgate-tests',
  libraries.map((name) => `${name}-${readVersion(name)}`).join('-'),
);

/** `NODE_OPTIONS` of a process that loads the bundles in place of the libraries. */
export const bundledLibraries = `--import=${pathToFileURL(join(folder, 'register-bundles.mjs')).href}`;

/** Writes the bundles, unless they exist. For `globalSetup`. */
export default async function bundleLibraries(): Promise<void> {
  if (existsSync(folder)) return;
  mkdirSync(dirname(folder), { recursive: true });
  const next = mkdtempSync(`${folder}-`);
  chmodSync(next, 0o755); // some tests start a gateway as another user
  // Vitest brings Vite.
  const vite = createRequire(createRequire(import.meta.url).resolve('vitest/package.json')).resolve('vite');
  const { build } = (await import(pathToFileURL(vite).href)) as typeof import('vite');
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: next,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(entries.map((entry) => [entry.replace('/', '-'), entry])),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  });
  cpSync(join(import.meta.dirname, 'register-bundles.mjs'), join(next, 'register-bundles.mjs'));
  writeFileSync(
    join(next, 'bundles.json'),
    JSON.stringify(Object.fromEntries(entries.map((entry) => [entry, `./${entry.replace('/', '-')}.mjs`]))),
  );
  try {
    renameSync(next, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // another run of the tests has written it
    rmSync(next, { recursive: true });
  }
}
