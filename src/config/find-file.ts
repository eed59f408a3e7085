import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** Finds the file of the configuration. A file that is named need not exist. */
export function findFile(named: string | undefined, cwd: string): string | undefined {
  if (named) return resolve(cwd, named);
  const usual = resolve(cwd, 'headgate.yaml');
  return existsSync(usual) ? usual : undefined;
}
