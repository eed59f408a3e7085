import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { TestGateway } from '../../src/testing/test-gateway.ts';

const root = join(import.meta.dirname, '../..');

/** The configuration of a gateway with the models of the examples. The simulator generates all responses. */
export const examplesConfig = {
  providers: [
    {
      id: 'simulator',
      wire: 'simulator',
      models: [
        ...['openai/gpt-5-mini', 'anthropic/claude-sonnet-4.5', 'anthropic/claude-haiku-4.5', 'groq/llama-3.3-70b'].map(
          (model) => ({ model, upstream_model: 'echo', pricing: { prompt: 0.000001, completion: 0.00001 } }),
        ),
        ...['openai/text-embedding-3-small', 'simulator/embedding'].map((model) => ({
          model,
          upstream_model: 'embedding',
        })),
        { model: 'simulator/rerank', upstream_model: 'rerank' },
      ],
    },
  ],
};

/** The result of one example. */
export interface ExampleRun {
  /** The line of the page. */
  line: number;
  /** What it printed. */
  output: string;
  /** The error that it threw. */
  error?: string;
}

/** Reads the examples of a page, with the address of this gateway. */
export function readExamples(
  page: string,
  language: string,
  { url }: Pick<TestGateway, 'url'>,
): { line: number; code: string }[] {
  const text = readFileSync(join(root, page), 'utf8');
  const found = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))];
  return found.map(({ 1: code, index }) => ({
    line: text.slice(0, index).split('\n').length + 1,
    code: code!.replaceAll('http://127.0.0.1:8787', url),
  }));
}

/**
 * Runs the examples of a page one after another in a process of its own, as its readers do, with this gateway.
 *
 * @param language of the blocks
 * @param modules the folder of their packages
 */
export async function runExamples(
  page: string,
  language: 'ts' | 'js',
  gateway: Pick<TestGateway, 'url' | 'key'>,
  modules = join(root, 'node_modules'),
): Promise<ExampleRun[]> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-examples-'));
  try {
    symlinkSync(modules, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const files = readExamples(page, language, gateway).map(({ line, code }) => {
      const file = join(folder, `line-${line}.${language}`);
      writeFileSync(file, code);
      return { line, url: pathToFileURL(file).href };
    });
    writeFileSync(join(folder, 'run.js'), runner);
    const { stdout } = await promisify(execFile)(process.execPath, ['run.js', JSON.stringify(files)], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        HEADGATE_KEY: gateway.key,
        AI_SDK_LOG_WARNINGS: 'false',
        MASTRA_TELEMETRY_DISABLED: '1',
      },
    });
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\u0001') + 1)) as ExampleRun[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const runner = `
import { format } from 'node:util';
const runs = [];
for (const { line, url } of JSON.parse(process.argv[2])) {
  const run = { line, output: '' };
  console.log = (...values) => { run.output += format(...values) + '\\n'; };
  try {
    await import(url);
  } catch (error) {
    run.error = String(error?.stack ?? error);
  }
  runs.push(run);
}
process.stdout.write('\\u0001' + JSON.stringify(runs), () => process.exit());
`;
