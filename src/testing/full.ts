import { it } from 'vitest';

/**
 * Whether this is the vitest project `full`. That project runs each test file that imports this module, in addition
 * to the project that the file belongs to.
 */
export const isFull = process.env['HEADGATE_TEST_FULL'] !== undefined;

/** `it` for a test of `npm test`. For files that have long tests, too. */
export const quick = it.skipIf(isFull);

/** `it` for a test of `npm run test:full`. */
export const long = it.runIf(isFull);
