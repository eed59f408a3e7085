import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';

const root = join(import.meta.dirname, '../..');

interface Bundling {
  /** Appears when all files are complete. */
  folder: string;
  /** Name of a bundle → its entry. */
  input: Record<string, string>;
  /** What register-bundles.mjs replaces → the file in the folder. */
  bundles: [string, string][];
  /** Packages to include. Default: all. */
  packages?: string[];
  plugins?: Plugin[];
}

/** Bundles modules for processes that tests start, beside a copy of register-bundles.mjs. */
export async function writeBundles({ folder, input, bundles, packages, plugins }: Bundling): Promise<void> {
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
    ssr: { noExternal: packages ?? true },
    ...(plugins && { plugins }),
    build: {
      ssr: true,
      outDir: next,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { input, output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' } },
    },
  });
  cpSync(join(import.meta.dirname, 'register-bundles.mjs'), join(next, 'register-bundles.mjs'));
  writeFileSync(join(next, 'bundles.json'), JSON.stringify(Object.fromEntries(bundles)));
  try {
    renameSync(next, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // another run of the tests has written it
    rmSync(next, { recursive: true });
  }
}
