import { ToolError } from '../server-tool.ts';

/** The home folder, as commands see it. */
const HOME = '/workspace/home';

/**
 * Returns a path below the home folder; empty: the folder itself.
 *
 * @throws {ToolError} if it is elsewhere
 */
export function readHomePath(path: string): string {
  const relative = path === HOME || path.startsWith(`${HOME}/`) ? path.slice(HOME.length + 1) : path;
  const below = relative.replace(/^~(\/|$)/, '');
  if (below.startsWith('/') || below.includes('\0')) {
    throw new ToolError(`The path must be relative to the home folder, or begin with ${HOME}/.`);
  }
  const segments = below.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw new ToolError('The path must not contain `..`.');
  return segments.join('/');
}
