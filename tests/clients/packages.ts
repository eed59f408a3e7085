import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Frameworks for agents that are too large for development dependencies, with the versions that CI installs. */
export const frameworks = [
  '@anthropic-ai/claude-agent-sdk@0.3.332',
  '@boundaryml/baml@0.226.2',
  '@boundaryml/baml-linux-x64-gnu@0.226.2', // its program for the system of CI
  '@genkit-ai/compat-oai@1.42.0',
  '@huggingface/inference@4.13.30',
  '@instructor-ai/instructor@1.7.0',
  '@langchain/core@1.4.0',
  '@langchain/langgraph@1.7.3',
  '@langchain/openai@1.5.8',
  '@langfuse/openai@5.11.1',
  '@llamaindex/core@0.6.23',
  '@llamaindex/openai@0.4.23',
  '@mastra/core@1.71.0',
  '@modelcontextprotocol/sdk@1.32.2', // a peer of @strands-agents/sdk
  '@openai/codex-sdk@0.163.0',
  '@strands-agents/sdk@1.19.0',
  'genkit@1.42.0',
  'openai@6.49.0',
  'portkey-ai@3.1.0',
  'token.js@0.7.1',
  'zod@4.6.7',
];

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

/** Packages in a folder of the other majors: the clients, and the peer that `openai` needs for WebSockets. */
export const otherMajorsFolder = [...otherMajors, 'ws@8.23.0'];

export type Found = { folder: string } | { skipped: string };

/** Finds the frameworks in the folder of `HEADGATE_TEST_FRAMEWORKS`. @returns `skipped`: why they are not there */
export const findFrameworks = (): Found => findPackages('HEADGATE_TEST_FRAMEWORKS', frameworks);

/** Finds the other majors in the folder of `HEADGATE_TEST_OTHER_MAJORS`. @returns `skipped`: why they are not there */
export const findOtherMajors = (): Found => findPackages('HEADGATE_TEST_OTHER_MAJORS', otherMajorsFolder);

function findPackages(variable: string, packages: readonly string[]): Found {
  const folder = process.env[variable];
  const remedy = `npm install --prefix FOLDER --legacy-peer-deps ${packages.join(' ')}, and ${variable}=FOLDER`;
  if (!folder) return { skipped: `no folder with these packages: ${remedy}` };
  for (const { name, version } of packages.map(readSpecifier)) {
    const found = readVersion(join(folder, 'node_modules', name, 'package.json'));
    if (found !== version)
      return { skipped: `${name} is ${found ?? 'not installed'}, and the tests want ${version}: ${remedy}` };
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
