import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename } from 'node:path';

/** A file that is written into a sandbox before its agent starts. */
export interface BootFile {
  /** Relative to the folder of the agent. */
  path: string;
  content: Buffer;
}

const folder = new URL('../agent/', import.meta.url);
const isSource = import.meta.url.endsWith('.ts');
let files: BootFile[] | undefined;

/** Reads the built-in agent. From a clone, its types are removed, because the Node of an image may not do that. */
export function readAgentFiles(): BootFile[] {
  files ??= readdirSync(folder)
    .filter((name) => (isSource ? /^[^.]+\.ts$/ : /^[^.]+\.js$/).test(name))
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      const code = isSource ? removeTypes(text).replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'") : text;
      return { path: `agent/${name.replace(/\.ts$/, '.js')}`, content: Buffer.from(code) };
    });
  return [...files, { path: 'agent/package.json', content: Buffer.from('{"type":"module"}') }];
}

/** Removes the types of a source. Node's warning that its function is experimental would puzzle an operator. */
function removeTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Reads the files that the runtime of an operator needs. @throws {Error} that names the setting */
export function readOperatorFiles(paths: readonly string[]): BootFile[] {
  return paths.map((path) => {
    try {
      return { path: `files/${basename(path)}`, content: readFileSync(path) };
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException; // of the file system
      throw new Error(`The file ${path} of interns.runtimes cannot be read (${code}).`, { cause });
    }
  });
}
