import { GatewayError } from '../domain/errors.ts';
import type { SpendingWindow } from '../platform/counters/accounts.ts';
import type { BudgetRefusal } from '../platform/counters/counters.ts';
import { writeDollars } from './cost.ts';
import type { SpendingLimit } from './spending.ts';
import { endOfWindow } from './windows.ts';

/** Formats an amount for a sentence. */
export const formatDollars = (nanoUsd: bigint): string => `${writeDollars(nanoUsd)} USD`;

/** Lowers the first letter, for use within a sentence. */
const lower = (words: string): string => `${words[0]!.toLowerCase()}${words.slice(1)}`;

const spans: Record<SpendingWindow, string> = {
  lifetime: 'in total',
  monthly: 'per month',
  weekly: 'per week',
  daily: 'per day',
};

/** Delay after which requests in flight may have ended and returned what they do not use. */
const IN_FLIGHT_RETRY_SECONDS = 5;

/** The error of each kind of limit. @see docs/reference/errors.md, docs/guides/limits.md */
const refusals = {
  key: { error: 'payment_required', source: 'router_key_limit', remedy: 'Raise the limit of the key' },
  member: { error: 'permission_denied', source: 'member_budget', remedy: 'Raise budgets.member' },
  guardrail: { error: 'permission_denied', source: 'guardrail_budget', remedy: 'Raise the limit of the guardrail' },
  tag: { error: 'permission_denied', source: 'tag_budget', remedy: 'Raise the limit of the tag in budgets.tags' },
  workspace: { error: 'permission_denied', source: 'workspace_budget', remedy: 'Raise the budget of the workspace' },
  organization: { error: 'payment_required', source: 'router_credits', remedy: 'Raise budgets.organization' },
  credits: { error: 'payment_required', source: 'router_credits', remedy: 'Add credits (headgate credits add)' },
} as const;

/**
 * Creates the error of a request that exceeds a limit: the limit, the amounts spent and reserved, and the remedy.
 *
 * @param nanoUsd maximum cost of the request
 * @param why a clause for a limit that is not exhausted: why the request does not fit
 */
export function createSpendingRefusal(
  limit: SpendingLimit,
  why: string,
  { spentNanoUsd, reservedNanoUsd }: BudgetRefusal,
  nanoUsd: bigint,
  nowMs: number,
): GatewayError {
  const { kind, window, limitNanoUsd } = limit;
  const { error, source, remedy } = refusals[kind];
  const name = limit.guardrail ? `Under the ${limit.guardrail.title}, ${lower(limit.name)}` : limit.name;
  const until = window === 'lifetime' ? '' : ` It resets on ${new Date(endOfWindow(window, nowMs)).toISOString()}.`;
  const isExhausted = spentNanoUsd >= limitNanoUsd;
  // the request exceeds the limit together with others, not on its own
  const isInFlight = !isExhausted && reservedNanoUsd > 0n && spentNanoUsd + nanoUsd <= limitNanoUsd;
  const reserved =
    reservedNanoUsd > 0n ? `, and ${formatDollars(reservedNanoUsd)} is reserved for requests in flight` : '';
  const mayCost = isExhausted ? '' : `; ${why}`;
  // callers must not see the amounts of the organization
  const state =
    kind === 'credits' || kind === 'organization'
      ? `${name} has ${isExhausted ? 'spent' : 'too little left of'} its ${kind === 'credits' ? 'credits' : `${window} budget`}`
      : `${name} may spend ${formatDollars(limitNanoUsd)} ${spans[window]} and has spent ${formatDollars(spentNanoUsd)}${isExhausted ? '' : reserved}`;
  const message = `${state}${mayCost}.${until}`;
  const metadata = isExhausted
    ? {
        limit_source: source,
        remedy_hint: `${remedy}${window === 'lifetime' ? '.' : ', or wait until it resets.'}`,
      }
    : {
        limit_source: 'router_in_flight_budget',
        reason: isInFlight ? 'in_flight_budget_exhausted' : 'weight_exceeds_budget',
        remedy_hint: `Request less output${isInFlight ? ', wait for requests in flight' : ''}, or ${lower(remedy)}.`,
      };
  return new GatewayError(error, message, {
    metadata: { ...metadata, interval: window },
    ...(isInFlight && { retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS }),
  });
}
