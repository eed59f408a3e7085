/**
 * Returns the URL of a module that starts as a thread or a process: with `.ts` in a clone, with `.js` in the published
 * package. `scripts/build.ts` finds these modules by the calls, so the path is a literal.
 *
 * @param path relative to the calling module, without its ending
 * @param caller `import.meta.url`
 */
export function moduleUrl(path: `./${string}`, caller: string): URL {
  return new URL(`${path}${caller.endsWith('.ts') ? '.ts' : '.js'}`, caller);
}
