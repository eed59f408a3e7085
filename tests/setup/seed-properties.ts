import { configureGlobal, readConfigureGlobal } from 'fast-check';
import { testSeed } from '../../src/testing/seed.ts';

/** Property tests check the same values in every run. One that needs other values has its own seed. */
configureGlobal({ ...readConfigureGlobal(), seed: testSeed });
