import { realpathSync, statSync } from 'node:fs';

/** Folders without which no command runs. */
const needed = new Set([
  '/usr',
  ...['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libexec', 'share', 'local'].map((name) => `/usr/${name}`),
  ...['bin', 'sbin', 'lib', 'share'].map((name) => `/usr/local/${name}`),
]);

export interface HiddenPath {
  path: string;
  isFolder: boolean;
}

/** Returns those of the paths that exist below `/usr`, which sandboxes see. A path in a hidden folder is not repeated. */
export function listHiddenPaths(paths: readonly string[]): HiddenPath[] {
  const found = paths.flatMap((path) => {
    try {
      const real = realpathSync(path);
      return real.startsWith('/usr/') && !needed.has(real) ? [real] : [];
    } catch {
      return []; // it does not exist
    }
  });
  const outer = [...new Set(found)].filter((path) => !found.some((other) => path.startsWith(`${other}/`)));
  return outer.map((path) => ({ path, isFolder: statSync(path).isDirectory() }));
}
