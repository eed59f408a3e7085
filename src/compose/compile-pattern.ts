import { finishInSlices } from '../guardrails/regex/finish-steps.ts';
import { parseInSlices } from '../guardrails/regex/parse-pattern.ts';
import { findMatches, PatternSet } from '../guardrails/regex/search.ts';
import type { CompilePattern } from '../tools/tool-search/index.ts';

/** Compiles an expression for tools. It is searched for in linear time, and other work runs while it is compiled. */
export const compilePattern: CompilePattern = async (pattern) => {
  const node = await finishInSlices(parseInSlices(pattern, { ignoreCase: true }));
  const set = await finishInSlices(PatternSet.createInSlices([{ node }]));
  return (text) => findMatches(set, text).length > 0;
};
