import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Frameworks for agents that are too large for development dependencies, with the versions that CI installs. */
export const frameworks = ['@llamaindex/core@0.6.23', '@llamaindex/openai@0.4.23', '@mastra/core@1.71.0'];

/**
 * The other major version of each client that is in use: package.json has one, and applications have both. The tests of
 * this folder run with them as well, in the project `other-majors` of Vitest.
 */
export const otherMajors = [
  '@ai-sdk/anthropic@3.0.138',
  '@ai-sdk/cohere@3.0.63',
  '@ai-sdk/openai@3.0.141',
  '@ai-sdk/openai-compatible@2.0.92',
  '@anthropic-ai/sdk@0.137.0',
  '@langchain/anthropic@0.3.34',
  '@langchain/core@0.3.80',
  '@langchain/openai@0.6.17',
  '@openrouter/sdk@1.3.19',
  'ai@6.0.326',
  'openai@6.49.0',
];

export type Found = { folder: string } | { skipped: string };

/** Finds the frameworks in the folder of `HEADGATE_TEST_FRAMEWORKS`. @returns `skipped`: why they are not there */
export const findFrameworks = (): Found => findPackages('HEADGATE_TEST_FRAMEWORKS', frameworks);

/** Finds the other majors in the folder of `HEADGATE_TEST_OTHER_MAJORS`. @returns `skipped`: why they are not there */
export const findOtherMajors = (): Found => findPackages('HEADGATE_TEST_OTHER_MAJORS', otherMajors);

function findPackages(variable: string, packages: readonly string[]): Found {
  const folder = process.env[variable];
  const mend = `npm install --prefix FOLDER ${packages.join(' ')}, and ${variable}=FOLDER`;
  if (!folder) return { skipped: `no folder with these packages: ${mend}` };
  for (const { name, version } of packages.map(readSpecifier)) {
    const found = readVersion(join(folder, 'node_modules', name, 'package.json'));
    if (found !== version)
      return { skipped: `${name} is ${found ?? 'not installed'}, and the tests want ${version}: ${mend}` };
  }
  return { folder };
}

/** Splits `@scope/name@version`. */
export function readSpecifier(specifier: string): { name: string; version: string } {
  const at = specifier.lastIndexOf('@');
  return { name: specifier.slice(0, at), version: specifier.slice(at + 1) };
}

function readVersion(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    return undefined;
  }
}
