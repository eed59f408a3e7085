import { registerHooks } from 'node:module';

/* For a process of a test: `headgate` is src/library.ts, as the package has it after a build. */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'headgate'
      ? { url: new URL('../../src/library.ts', import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
