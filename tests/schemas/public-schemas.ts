import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { AnthropicAnswers, GeminiAnswers, OpenAIAnswers } from './answers.ts';
import { findFaults, type Schema } from './find-faults.ts';

export type Answer = keyof OpenAIAnswers | keyof AnthropicAnswers | keyof GeminiAnswers;

const root = join(import.meta.dirname, '../..');
const packages = ['openai', '@anthropic-ai/sdk', '@google/genai', 'ts-json-schema-generator'];
const sources = ['answers.ts', 'compile-answers.ts', 'tsconfig.json'].map((file) => join(import.meta.dirname, file));

/**
 * Reads the schemas of all answers by the newest official clients. Compiles them unless that is done for these versions: it
 * takes 6 s.
 *
 * @returns a function that lists what an answer lacks
 */
export async function readPublicSchemas(): Promise<(answer: Answer, value: unknown) => string[]> {
  const schemas = JSON.parse(await readCompiled()) as Record<Answer, Schema>;
  return (answer, value) => findFaults(schemas[answer], value);
}

async function readCompiled(): Promise<string> {
  const manifests = packages.map((name) => join(root, 'node_modules', name, 'package.json'));
  const hash = createHash('sha256');
  for (const file of [...manifests, ...sources]) hash.update(readFileSync(file));
  const cached = join(root, `node_modules/.cache/headgate-tests/answers-${hash.digest('hex').slice(0, 16)}.json`);
  try {
    return readFileSync(cached, 'utf8');
  } catch {
    const script = join(import.meta.dirname, 'compile-answers.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [script], { maxBuffer: 2 ** 24 });
    mkdirSync(dirname(cached), { recursive: true });
    const next = `${cached}.${process.pid}`;
    writeFileSync(next, stdout);
    renameSync(next, cached);
    return stdout;
  }
}
