import type { Detector } from '../detector.ts';
import { evasionChecks, prepareEvasionChecks } from './evasion.ts';
import { families, writeSource } from './families.ts';

/** The patterns in plain text. Phrases on the allowlist hide from them. */
export const injectionPatterns: readonly Detector[] = families.map(({ id, source, isCaseSensitive }) => ({
  id,
  source: writeSource(source),
  ignoreCase: !isCaseSensitive,
}));

export { evasionChecks, prepareEvasionChecks };
