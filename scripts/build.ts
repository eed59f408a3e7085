import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { buildConsole } from '../console/build.ts';

/*
 * Compiles src/ to dist/ for the package; a clone runs src/ directly. Most of a start is the loading of modules, so they
 * are bundled. The declarations remain one file per module. The console is built to dist/console.
 *
 *     node scripts/build.ts [new folder]
 */
const root = join(import.meta.dirname, '..');
const source = join(root, 'src');
const output = resolve(process.argv[2] ?? join(root, 'dist'));

/**
 * Packages that are bundled, too. They have 866 of the 1,076 modules that `headgate keys list` loads with a configuration, and
 * take more than half of its CPU time. They remain dependencies, because the declarations name their types.
 */
const inlined = ['typebox', 'kysely', 'yaml'];

/** A placeholder for the path from a chunk to dist/. The path is known when all chunks exist. */
const toOutput = './<dist>/';

/** Gives each module the URL that it would have without the bundle, because modules find files beside them. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform(code, id) {
    const [other] = /\bimport\.meta\.(?!url\b|resolve\b)\w+/.exec(code) ?? [];
    if (other !== undefined) throw new Error(`${id}: ${other} would be that of the chunk. Use import.meta.url.`);
    if (!code.includes('import.meta.url')) return null;
    const path = relative(source, id).replace(/\.ts$/, '.js');
    return {
      code: code.replaceAll('import.meta.url', `new URL('${toOutput}${path}', import.meta.url).href`),
      map: null,
    };
  },
  renderChunk(code, { fileName }) {
    return { code: code.replaceAll(toOutput, `./${'../'.repeat(fileName.split('/').length - 1)}`), map: null };
  },
};

if (process.argv[2] === undefined) rmSync(output, { recursive: true, force: true });
else if (existsSync(output)) throw new Error(`${output} exists. Name a new folder.`);
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', output], {
  stdio: 'inherit',
});
await bundle(['cli', ...findExports(), ...findThreads()]);
writeLicenses();
await bundle(['interns/agent/main']); // one file: it runs in sandboxes, without the package
await buildConsole(join(output, 'console'));

/** Writes the licenses of the packages that are bundled. */
function writeLicenses(): void {
  const texts = inlined.map((name) => {
    const folder = join(root, 'node_modules', name);
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    const [file] = globSync('{LICENSE,license}*', { cwd: folder });
    if (file === undefined) throw new Error(`${name} has no license file.`);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  writeFileSync(join(output, 'LICENSES.txt'), texts.join('\n---\n\n'));
}

/** @returns the modules that package.json exports, relative to src/ and without ending */
function findExports(): string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, string> };
  return Object.values(manifest.exports).map((path) => path.slice('./dist/'.length, -'.js'.length));
}

/** @returns the modules that start as a thread or a process, see `moduleUrl` */
function findThreads(): string[] {
  return globSync('**/*.ts', { cwd: source, exclude: ['**/*.test.ts'] }).flatMap((file) => {
    const code = readFileSync(join(source, file), 'utf8');
    const found = [...code.matchAll(/(?<!function )\bmoduleUrl\((?:'([^']+)', import\.meta\.url\))?/g)];
    return found.map(([, path]) => {
      if (path !== undefined) return join(dirname(file), path);
      throw new Error(`${file}: a call of moduleUrl has other arguments than a literal and import.meta.url.`);
    });
  });
}

async function bundle(entries: string[]): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(source, `${entry}.ts`)])),
    cwd: root,
    platform: 'node',
    // other packages are dependencies of the package
    external: (id) => /^[^./]/.test(id) && !inlined.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [keepUrls],
    onLog(level, { message }) {
      throw new Error(`${level}: ${message}`);
    },
  });
  await build.write({
    dir: output,
    format: 'esm',
    sourcemap: true,
    comments: false,
    // V8 keeps a text with one character beyond Latin-1 in two bytes per character
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  });
  await build.close();
}
