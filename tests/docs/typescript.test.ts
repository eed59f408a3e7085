import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root })];
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

const blocks = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```$/gm)].map((found) => ({
    name: `${page.replace(/\W/g, '-')}-${text.slice(0, found.index).split('\n').length + 1}.ts`,
    code: found[1]!,
  }));
});

const packages: Record<string, string> = {
  'headgate/types': 'types.ts',
  'headgate/types/anthropic': 'types/anthropic.ts',
  'headgate/wire': 'providers/wire.ts',
  'headgate/plugin': 'plugins/plugin.ts',
  'headgate/testing': 'testing/strict/index.ts', // without the test gateway, which imports everything
};

/** The project of a user: strict, with the packages of this repository and this `headgate`. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-typescript-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true, // as the sources behind `paths` do
    paths: Object.fromEntries(Object.entries(packages).map(([name, path]) => [name, [join(root, 'src', path)]])),
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*/*.ts'] }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the messages of the compiler for these files. */
async function compile(files: readonly { name: string; code: string }[]): Promise<string> {
  const place = join(folder, 'pages');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  for (const { name, code } of files) writeFileSync(join(place, name), `${code}\nexport {};\n`);
  const run = promisify(execFile)(process.execPath, [compiler, '-p', folder]);
  return run.then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
}

it('the example of the README compiles in a new project with the packages that the README names', async () => {
  const project = join(folder, 'new');
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const installed = [...readme.matchAll(/`npm install ([^`]+)`/g)].flatMap(([, words]) => words!.split(' '));
  const names = installed.filter((word) => !word.startsWith('-'));
  expect(names).toEqual(['openai', 'typescript', '@types/node']);
  // Copies, because the compiler follows links to packages that the project does not have. npm adds `undici-types` itself.
  for (const name of [...names.filter((one) => one !== 'typescript'), 'undici-types']) {
    cpSync(join(root, 'node_modules', name), join(project, 'node_modules', name), {
      recursive: true,
      filter: (path) => !/\.m?js(\.map)?$/.test(path),
    });
  }
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  const block = blocks.find(({ name }) => name.startsWith('README'))!;
  writeFileSync(join(project, 'hello.ts'), block.code);
  const run = (...args: string[]) => promisify(execFile)(process.execPath, [compiler, ...args], { cwd: project });
  await run('--init');
  const settings = join(project, 'tsconfig.json');
  expect(readme).toContain('`"types": ["node"]`');
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('"types": []', '"types": ["node"]'));
  const printed = await run('--noEmit').catch((error: { stdout: string }) => error);
  expect(printed.stdout).toBe('');
});

it('every TypeScript example of the documentation compiles', async () => {
  expect(blocks.length).toBeGreaterThan(2);
  expect(await compile(blocks)).toBe('');
});

it('an example with a field that neither the client nor the gateway has does not', async () => {
  const anthropic = `import Anthropic from '@anthropic-ai/sdk';
import type {} from 'headgate/types/anthropic';
await new Anthropic().messages.create({ model: 'a/b', max_tokens: 9, messages: [], models: ['c/d'], plugin: [] });`;
  const chat = `import OpenAI from 'openai';
import type {} from 'headgate/types';
const client = new OpenAI();
await client.embeddings.create({ model: 'a/b', input: 'Hello', input_type: 'poem' });
await client.chat.completions.create({ model: 'a/b', messages: [], provider: { sort: 'colour' } });`;
  const code = `import OpenAI from 'openai';
import type {} from 'headgate/types';
const client = new OpenAI();
await client.responses.create({ model: 'a/b', input: 'Hello', modells: ['c/d'] });`;
  const files = Object.entries({ 'wrong.ts': code, 'chat.ts': chat, 'anthropic.ts': anthropic });
  const messages = await compile(files.map(([name, text]) => ({ name, code: text })));
  expect(messages).toContain("'modells' does not exist");
  expect(messages).toContain('"poem"');
  expect(messages).toContain('"colour"');
  expect(messages).toContain("'plugin' does not exist");
  expect(messages.match(/error TS/g)).toHaveLength(4);
});
