import { configureGlobal, readConfigureGlobal } from 'fast-check';
import { patient } from '../../src/testing/patience.ts';
import { testSeed } from '../../src/testing/seed.ts';

/**
 * Property tests check the same values in every run. One that needs other values has its own seed. A failure is reported
 * within the time limit of a test, even if the search for a smaller example has not ended.
 */
configureGlobal({
  ...readConfigureGlobal(),
  seed: testSeed,
  interruptAfterTimeLimit: patient(200_000),
  markInterruptAsFailure: true,
});
