import { addUsage, type Usage } from '../../domain/usage.ts';
import type { InnerRun } from '../run/run-money.ts';

/** Adds the usage of inner runs to that of the run that they serve. */
export const addInnerUsage = (own: Usage, innerRuns: readonly InnerRun[]): Usage =>
  innerRuns.reduce((sum, { usage }) => (usage ? addUsage(sum, usage) : sum), own);
