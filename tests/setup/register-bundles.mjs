import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Loads the bundles beside this file in place of libraries and programs: see bundle-libraries.ts and bundle-source.ts. */
const bundles = new Map(Object.entries(JSON.parse(readFileSync(new URL('bundles.json', import.meta.url), 'utf8'))));
registerHooks?.({
  resolve(specifier, context, next) {
    const file = bundles.get(specifier);
    const isProgram = context.parentURL === undefined;
    if (file === undefined || !(isProgram || context.parentURL.includes('/src/'))) return next(specifier, context);
    return { url: new URL(file, import.meta.url).href, format: 'module', shortCircuit: true };
  },
});
