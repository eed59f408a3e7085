import { createHash } from 'node:crypto';
import { globSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { generateTypes } from './generate-types.ts';

/**
 * Builds the console. Each file that compresses also has a `.br` and a `.gz` beside it, for the server.
 *
 * @param output the folder; what it contains is removed
 * @returns the files that the first page loads: the document, its scripts and styles, without compression
 */
export async function buildConsole(output: string): Promise<string[]> {
  await generateTypes();
  const result = await buildForProduction(output);
  hashTheme(output);
  for (const path of globSync('**/*.{html,js,css,svg}', { cwd: output })) compress(join(output, path));
  const now = new Date();
  utimesSync(join(output, 'index.html'), now, now); // a gateway that runs lists the files again
  return ['index.html', 'icon.svg', ...listFirst(result.output)];
}

/** Builds React without its checks, although tests set another `NODE_ENV`. */
async function buildForProduction(output: string): Promise<Rolldown.RolldownOutput> {
  const { NODE_ENV } = process.env;
  process.env['NODE_ENV'] = 'production';
  try {
    const result = await build({
      configFile: join(import.meta.dirname, 'vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: output },
    });
    return result as Rolldown.RolldownOutput;
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = NODE_ENV;
  }
}

/** Gives the script that sets the theme a name with a hash, so that browsers can keep it. */
function hashTheme(output: string): void {
  const from = join(output, 'theme.js');
  const hash = createHash('sha256').update(readFileSync(from)).digest('hex').slice(0, 8);
  renameSync(from, join(output, `assets/theme-${hash}.js`));
  const page = join(output, 'index.html');
  writeFileSync(page, readFileSync(page, 'utf8').replace('./theme.js', `./assets/theme-${hash}.js`));
}

function compress(path: string): void {
  const bytes = readFileSync(path);
  const brotli = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: brotli }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}

/** @returns the files that the entry imports, directly or not, and the styles */
function listFirst(output: Rolldown.RolldownOutput['output']): string[] {
  const chunks = new Map(output.map((file) => [file.fileName, file]));
  const first = new Set<string>();
  const add = (name: string): void => {
    const chunk = chunks.get(name);
    if (first.has(name) || chunk === undefined) return;
    first.add(name);
    if (chunk.type === 'chunk') for (const each of chunk.imports) add(each);
  };
  for (const file of output) {
    const isEntry = file.type === 'chunk' ? file.isEntry : file.fileName.endsWith('.css');
    const isFirstPage = file.type === 'chunk' && (file.facadeModuleId ?? '').endsWith('overview/overview-page.tsx');
    if (isEntry || isFirstPage) add(file.fileName);
  }
  return [...first];
}

if (import.meta.main) await buildConsole(join(import.meta.dirname, '../dist/console'));
