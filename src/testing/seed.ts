const wanted = process.env['HEADGATE_TEST_SEED'];

/**
 * The seed of random inputs of tests. It is the same in every run, so that a test fails because of a change and not
 * because of a draw. `HEADGATE_TEST_SEED` is another seed; `random` draws one.
 */
export const testSeed = wanted === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(wanted ?? 20_261_123);
