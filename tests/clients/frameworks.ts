import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Frameworks for agents that are too large for development dependencies, and the versions that CI installs. */
const frameworkVersions = {
  '@llamaindex/core': '0.6.23',
  '@llamaindex/openai': '0.4.23',
  '@mastra/core': '1.71.0',
};

/** Imports a module of an installed framework. */
export type ImportFramework = (specifier: string) => Promise<unknown>;

/**
 * Finds the frameworks in the folder of `HEADGATE_TEST_FRAMEWORKS`, if they have these versions.
 *
 * @returns `skipped`: the reason why there are none
 */
export function findFrameworks(): { folder: string; load: ImportFramework } | { skipped: string } {
  const folder = process.env['HEADGATE_TEST_FRAMEWORKS'];
  const packages = Object.entries(frameworkVersions).map(([name, version]) => `${name}@${version}`);
  const mend = `npm install --prefix FOLDER ${packages.join(' ')}, and HEADGATE_TEST_FRAMEWORKS=FOLDER`;
  if (!folder) return { skipped: `no folder with LlamaIndex and Mastra: ${mend}` };
  for (const [name, version] of Object.entries(frameworkVersions)) {
    const found = readVersion(join(folder, 'node_modules', name, 'package.json'));
    if (found !== version)
      return { skipped: `${name} is ${found ?? 'not installed'}, and the tests want ${version}: ${mend}` };
  }
  const { resolve } = createRequire(join(folder, 'package.json'));
  return { folder, load: (specifier) => import(pathToFileURL(resolve(specifier)).href) };
}

function readVersion(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    return undefined;
  }
}
