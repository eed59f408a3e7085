import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeBundles } from './write-bundles.ts';

/*
 * A gateway that starts as a process loads 2,700 modules, 940 of them from two libraries. With a bundle of both, the CPU
 * time of a start falls by a quarter. src/ runs unchanged. bundle-source.ts bundles src/, too.
 */
const root = join(import.meta.dirname, '../..');
const libraries = ['typebox', 'kysely'];
const entries = ['typebox', 'typebox/schema', 'kysely', 'kysely/migration'];

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
  await writeBundles({
    folder,
    input: Object.fromEntries(entries.map((entry) => [entry.replace('/', '-'), entry])),
    bundles: entries.map((entry) => [entry, `./${entry.replace('/', '-')}.mjs`]),
  });
}
