import { type Availability, createAvailability, type GatewayError, isLastingFailure } from '../../domain/errors.ts';
import { isEndpointFault } from '../../routing/health.ts';
import type { Attempt } from './attempt.ts';
import { copyError } from '../copy-error.ts';
import type { Step } from './step.ts';

/**
 * Returns the last failure of a step, with the others in its metadata, and whether a retry is worthwhile. A missing
 * model is reported only if no endpoint failed otherwise, because that endpoint may serve the model later.
 */
export function withHistory(step: Step, failure: GatewayError): GatewayError {
  const tried = step.attempts.filter((attempt) => attempt.error !== undefined);
  const other = tried.findLast(({ error }) => error?.kind !== 'model_unavailable');
  const last = (failure.kind === 'model_unavailable' && other?.error) || failure;
  const availability = describeAvailability(step, tried, last);
  if (tried.length < 2) return availability ? copyError(last, last.message, { availability }) : last;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  return copyError(last, last.message, {
    metadata: {
      ...last.metadata,
      previous_errors: describeErrors(tried.filter(({ error }) => error !== last)),
    },
    ...(availability === undefined ? undefined : { availability }),
    ...(waits.length === 0 ? undefined : { retryAfterSeconds: Math.min(...waits) }),
  });
}

export const describeErrors = (tried: readonly Attempt[]) =>
  tried.map(({ endpoint, status, error }) => ({
    provider: endpoint.provider.name,
    code: error?.providerCode ?? error?.errorType,
    status,
  }));

/**
 * Set only if every attempt failed because of capacity, an outage or a missing model. The code follows the status that
 * is returned. @see docs/reference/errors.md#errormetadata
 */
function describeAvailability(
  { plan }: Step,
  tried: readonly Attempt[],
  returned: GatewayError,
): Availability | undefined {
  const isGone = returned.kind === 'model_unavailable';
  const isLimited = returned.kind === 'rate_limited';
  const isDown = tried.every(
    ({ error }) => error !== undefined && (isEndpointFault(error) || error.kind === 'rate_limited'),
  );
  const isLasting = tried.every(({ error }) => error && isLastingFailure(error));
  if (tried.length === 0 || !isDown || isLasting) return undefined;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  const code = isGone ? 'model_unavailable_upstream' : isLimited ? 'capacity_exhausted' : 'temporarily_unavailable';
  return createAvailability(code, plan.slugs, {
    retryable: !isGone,
    affected_providers: [...new Set(tried.map(({ endpoint }) => endpoint.provider.name))],
    ...(waits.length === 0 ? undefined : { retry_after: Math.min(...waits) }),
  });
}
