/**
 * Returns the URL of a module that starts as a thread or a process: with `.ts` in a clone, with `.js` in the published
 * package. `scripts/build.ts` finds these modules by the calls. It fails if an argument is not as described here.
 *
 * @param path a literal: relative to the calling module, without its ending
 * @param caller `import.meta.url`
 */
export function moduleUrl(path: `./${string}`, caller: string): URL {
  return new URL(`${path}${caller.endsWith('.ts') ? '.ts' : '.js'}`, caller);
}
