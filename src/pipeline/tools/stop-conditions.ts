import type { FinishReason } from '../../domain/chunks.ts';
import type { StopCondition } from '../../domain/request.ts';
import { nanoUsdOf, totalOf } from '../../metering/cost.ts';
import { sumCosts } from '../accounting/attempt-cost.ts';
import { chargesOf, sumCharges } from '../accounting/sum-charges.ts';
import type { Run } from '../run/run.ts';
import { attemptsOf } from '../run/step.ts';

/** The state of a run after a model call. */
export interface LoopState {
  /** Calls of server tools so far, including those of the last model call. */
  readonly calls: number;
  /** Types and function names of the tools called so far. */
  readonly called: ReadonlySet<string>;
  /** The sum over all model calls. */
  readonly tokens: number;
  readonly costNanoUsd: bigint;
  /** Finish reason of the last model call. */
  readonly finishReason: FinishReason | undefined;
}

/** Measures the model calls of a run, its charges and its inner runs so far. */
export function measureRun(run: Run): Pick<LoopState, 'tokens' | 'costNanoUsd'> {
  const charges = chargesOf(run);
  const inner = run.innerRuns.reduce((sum, { cost }) => sum + totalOf(cost), 0n);
  return {
    tokens:
      run.steps.reduce((sum, { committed }) => sum + (committed?.spent?.usage.totalTokens ?? 0), 0) +
      run.innerRuns.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0),
    costNanoUsd: totalOf(sumCosts(attemptsOf(run))) + (charges ? totalOf(sumCharges(charges)) : 0n) + inner,
  };
}

/**
 * Returns the first condition that holds.
 *
 * @see docs/reference/tools.md#steps
 */
export const findReason = (conditions: readonly StopCondition[], state: LoopState): StopCondition | undefined =>
  conditions.find((condition) => holds(condition, state));

function holds(condition: StopCondition, state: LoopState): boolean {
  switch (condition.type) {
    case 'step_count_is':
      return state.calls >= condition.step_count;
    case 'has_tool_call':
      return state.called.has(condition.tool_name);
    case 'max_tokens_used':
      return state.tokens >= condition.max_tokens;
    case 'max_cost':
      return state.costNanoUsd >= nanoUsdOf(condition.max_cost_in_dollars);
    case 'finish_reason_is':
      return state.finishReason === condition.reason;
  }
}
