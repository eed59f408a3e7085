import { GatewayError } from '../domain/errors.ts';
import type { SpendingWindow } from '../platform/counters/accounts.ts';
import type { BudgetRefusal } from '../platform/counters/counters.ts';
import { writeDollars } from './cost.ts';
import type { SpendingLimit } from './spending.ts';
import { endOfWindow } from './windows.ts';

/** For sentences. */
export const formatDollars = (nanoUsd: bigint): string => `${writeDollars(nanoUsd)} USD`;

/** Within a sentence. */
const lower = (words: string): string => `${words[0]!.toLowerCase()}${words.slice(1)}`;

const spans: Record<SpendingWindow, string> = {
  lifetime: 'in all',
  monthly: 'a month',
  weekly: 'a week',
  daily: 'a day',
};

/** How a refusal is told. @see docs/reference/errors.md, docs/guides/limits.md */
const refusals = {
  key: { error: 'payment_required', source: 'router_key_limit', remedy: 'Raise the limit of the key' },
  member: { error: 'permission_denied', source: 'member_budget', remedy: 'Raise budgets.member' },
  guardrail: { error: 'permission_denied', source: 'guardrail_budget', remedy: 'Raise the limit of the guardrail' },
  workspace: { error: 'permission_denied', source: 'workspace_budget', remedy: 'Raise the budget of the workspace' },
  organization: { error: 'payment_required', source: 'router_credits', remedy: 'Raise budgets.organization' },
  credits: { error: 'payment_required', source: 'router_credits', remedy: 'Add credits (headgate credits add)' },
} as const;

/**
 * The refusal of a request that a limit does not let pass: how much it may spend, has spent and holds, and what to do.
 *
 * @param why a clause, for a limit that is not used up: what it cannot hold
 */
export function createSpendingRefusal(
  limit: SpendingLimit,
  why: string,
  { spentNanoUsd, reservedNanoUsd }: BudgetRefusal,
  nowMs: number,
): GatewayError {
  const { kind, window, limitNanoUsd } = limit;
  const { error, source, remedy } = refusals[kind];
  const name = limit.guardrail ? `By the ${limit.guardrail.title} ${lower(limit.name)}` : limit.name;
  const until =
    window === 'lifetime' ? '' : ` It begins anew on ${new Date(endOfWindow(window, nowMs)).toISOString()}.`;
  const isExhausted = spentNanoUsd >= limitNanoUsd;
  const held =
    reservedNanoUsd > 0n ? `, and ${formatDollars(reservedNanoUsd)} is held for requests that are under way` : '';
  const mayCost = isExhausted ? '' : `; ${why}`;
  // What the organization has and spends is not for every caller to read.
  const what =
    kind === 'credits' || kind === 'organization'
      ? `${name} has ${isExhausted ? 'spent' : 'too little left of'} ${kind === 'credits' ? 'its credits' : `what it may spend ${spans[window]}`}`
      : `${name} may spend ${formatDollars(limitNanoUsd)} ${spans[window]} and has spent ${formatDollars(spentNanoUsd)}${isExhausted ? '' : held}`;
  const message = `${what}${mayCost}.${until}`;
  const metadata = isExhausted
    ? {
        limit_source: source,
        remedy_hint: `${remedy}${window === 'lifetime' ? '.' : ', or wait until it begins anew.'}`,
      }
    : {
        limit_source: 'router_in_flight_budget',
        // It alone is too much, or it is too much beside others.
        reason: reservedNanoUsd === 0n ? 'weight_exceeds_budget' : 'in_flight_budget_exhausted',
        remedy_hint: `Ask for less (max_output_tokens, n)${reservedNanoUsd === 0n ? '' : ', wait for requests that are under way'}, or ${lower(remedy)}.`,
      };
  return new GatewayError(error, message, { metadata: { ...metadata, interval: window } });
}
