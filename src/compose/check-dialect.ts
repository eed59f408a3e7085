import type { CheckDialect } from '../config/check-dialects.ts';
import { openWires, wires } from '../providers/index.ts';
import { hintAtFields } from '../providers/kit/read-dialect.ts';
import { findDialectIssues } from '../providers/provider.ts';

/** Checks a `dialect` with every wire that a name in the configuration means. */
export const checkWrittenDialect: CheckDialect = (wireId, settings, mayShow) => {
  const only = wires.get(wireId);
  const used = openWires.get(wireId) ?? (only ? [only] : []);
  return { issues: findDialectIssues(used, settings, mayShow), hints: hintAtFields(settings) };
};
