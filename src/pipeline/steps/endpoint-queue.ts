import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Cancellation } from '../../domain/cancellation.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { Endpoint } from '../../providers/provider.ts';
import { RetryBudget } from '../../routing/retry-budget.ts';
import { planRetry } from './plan-retry.ts';
import { wait } from './wait.ts';

/** The dependencies of retries, besides the policy of a provider. */
export interface RetryParts {
  budget: Pick<RetryBudget, 'countRequest' | 'takeRetry'>;
  /** Rejects with the reason of the cancellation when it occurs. */
  wait: (ms: number, cancellation: Cancellation) => Promise<void>;
  /** 0 up to 1. */
  random: () => number;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

/** One for all runs of a process. */
export const createRetryParts = (): RetryParts => ({
  budget: new RetryBudget(),
  wait,
  random: Math.random,
  now: () => performance.now(),
});

/** An endpoint to try next. */
export interface EndpointTurn {
  readonly endpoint: Endpoint;
  readonly isRetry: boolean;
  /** Before a retry. */
  readonly delayMs: number;
  /** Whether no other endpoint is left to try for the first time. */
  readonly isLast: boolean;
}

interface Tried {
  endpoint: Endpoint;
  attempts: number;
  failure: GatewayError;
}

/**
 * Chooses the next endpoint of a plan: first each endpoint once, in the order of the plan. Then it chooses endpoints
 * whose failure was transient, the least tried first. A retry waits, and uses the retry budget of its provider.
 */
export class EndpointQueue {
  private readonly endpoints: readonly Endpoint[];
  private readonly maxAttempts: number;
  private readonly deadlineAt: number;
  private readonly parts: RetryParts;
  private droppedModels: Set<string> | undefined;
  private readonly tried: Tried[] = [];
  private startedAt: number | undefined;
  private position = 0;
  private failed = 0;

  /** @param deadlineAt of the request, on the clock of the parts; undefined: there is none */
  constructor(endpoints: readonly Endpoint[], maxAttempts: number, deadlineAt: number | undefined, parts: RetryParts) {
    this.endpoints = endpoints;
    this.maxAttempts = maxAttempts;
    this.deadlineAt = deadlineAt ?? Number.POSITIVE_INFINITY;
    this.parts = parts;
  }

  /** Drops the endpoints of a model from the queue. */
  dropModel(model: string): void {
    this.droppedModels ??= new Set();
    this.droppedModels.add(model);
  }

  /** Records the failure of an endpoint, so that it may get another turn. */
  fail(endpoint: Endpoint, failure: GatewayError): void {
    this.failed++;
    const known = this.tried.find((each) => each.endpoint === endpoint);
    if (!known) this.tried.push({ endpoint, attempts: 1, failure });
    else {
      known.attempts++;
      known.failure = failure;
    }
  }

  /** @returns undefined if no further endpoint may be tried */
  next(): EndpointTurn | undefined {
    if (this.failed >= this.maxAttempts) return undefined;
    return this.nextFirst() ?? this.nextRetry();
  }

  private nextFirst(): EndpointTurn | undefined {
    while (this.position < this.endpoints.length) {
      const endpoint = this.endpoints[this.position++]!;
      if (this.droppedModels?.has(endpoint.model)) continue;
      this.startedAt ??= this.parts.now();
      const isLast = this.position === this.endpoints.length || this.failed + 1 === this.maxAttempts;
      return { endpoint, isRetry: false, delayMs: 0, isLast };
    }
    return undefined;
  }

  private nextRetry(): EndpointTurn | undefined {
    const { budget, random, now } = this.parts;
    const nowMs = now();
    // The sort is stable, so endpoints with the same number of attempts stay in the order of the plan.
    for (const { endpoint, attempts, failure } of this.tried.toSorted((a, b) => a.attempts - b.attempts)) {
      const { retry, id } = endpoint.provider;
      if (!retry || this.droppedModels?.has(endpoint.model)) continue;
      const elapsedMs = nowMs - this.startedAt!; // set by the first turn
      const delayMs = planRetry(retry, { failure, attempts, elapsedMs, leftMs: this.deadlineAt - nowMs, random });
      if (delayMs !== undefined && budget.takeRetry(id, retry))
        return { endpoint, isRetry: true, delayMs, isLast: true };
    }
    return undefined;
  }
}
