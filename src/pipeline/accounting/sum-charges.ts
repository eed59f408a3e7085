import { type Charge, costOfCharges, WEB_SEARCH } from '../../domain/charge.ts';
import { type Cost, type SpecialCounts, type Usage, usage } from '../../domain/usage.ts';
import type { RunBase } from '../run/run.ts';

/** The charges of a run for work that was done. Undefined: none. */
export const chargesOf = ({ charges }: Pick<RunBase, 'charges'>): readonly Charge[] | undefined => {
  const done = charges?.filter(({ count }) => count > 0);
  return done?.length ? done : undefined;
};

/** Returns the total cost of charges. */
export const sumCharges = (charges: readonly Charge[]): Cost =>
  costOfCharges(charges.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0n));

/** Returns the counts of charges that the usage reports. */
export function usageOfCharges(charges: readonly Charge[]): Usage {
  const webSearches = charges.reduce((sum, { name, count }) => (name === WEB_SEARCH ? sum + count : sum), 0);
  const special: SpecialCounts | undefined = webSearches > 0 ? { webSearches } : undefined;
  return usage({ inputTokens: 0, outputTokens: 0, ...(special && { special }) });
}
