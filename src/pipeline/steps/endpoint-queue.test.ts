import { describe, expect, it } from 'vitest';
import { GatewayError, type GatewayErrorOptions } from '../../domain/errors.ts';
import type { RetryPolicy } from '../../domain/retry-policy.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../../providers/provider.ts';
import { RetryBudget } from '../../routing/retry-budget.ts';
import { EndpointQueue } from './endpoint-queue.ts';

const policy: RetryPolicy = {
  attempts: 3,
  backoffMs: 200,
  maxBackoffMs: 1000,
  maxRetryAfterMs: 5000,
  budgetMs: 10_000,
  share: 0.1,
  minimum: 10,
};
const failure = (options: GatewayErrorOptions = {}) =>
  new GatewayError('upstream_overloaded', 'x', { retryable: true, isTransient: true, ...options });

interface Setting {
  policy?: Partial<RetryPolicy>;
  /** Providers without a policy. */
  without?: string[];
  maxAttempts?: number;
  deadlineMs?: number;
  random?: number;
}

/** A queue of the endpoints `model@provider`, with a clock that only `pass` moves. */
function openQueue(names: string[], setting: Setting = {}) {
  let nowMs = 0;
  const endpoints = names.map((name): Endpoint => {
    const [model = '', id = ''] = name.split('@');
    const retry = setting.without?.includes(id) ? undefined : { ...policy, ...setting.policy };
    return { ...bareEndpoint({ id, name: id, retry } as Provider, model, model), id: name };
  });
  const { maxAttempts = 100, deadlineMs = 600_000, random = 1 } = setting;
  const parts = {
    budget: new RetryBudget(() => nowMs),
    random: () => random,
    now: () => nowMs,
    wait: () => Promise.resolve(),
  };
  const queue = new EndpointQueue(endpoints, maxAttempts, deadlineMs, parts);
  return {
    queue,
    /** Lets every attempt fail until the queue ends. */
    drain(errorOf: (name: string, attempt: number) => GatewayError = () => failure(), attemptMs = 0): string[] {
      const turns: string[] = [];
      const attempts = new Map<string, number>();
      for (let turn = queue.next(); turn; turn = queue.next()) {
        const { id } = turn.endpoint;
        attempts.set(id, (attempts.get(id) ?? 0) + 1);
        nowMs += turn.delayMs + attemptMs;
        turns.push(turn.isRetry ? `${id} after ${turn.delayMs}` : id);
        queue.fail(turn.endpoint, errorOf(id, attempts.get(id)!));
      }
      return turns;
    },
  };
}

it('falls back at once while endpoints are left, then retries the least tried, with growing delays', () => {
  expect(openQueue(['m@a', 'm@b']).drain()).toEqual([
    'm@a',
    'm@b',
    'm@a after 200',
    'm@b after 200',
    'm@a after 400',
    'm@b after 400',
  ]);
});

it('doubles delays up to the longest, and draws each from 0 up to it', () => {
  const many = { attempts: 6, maxBackoffMs: 500 };
  expect(openQueue(['m@a'], { policy: many }).drain()).toEqual([
    'm@a',
    'm@a after 200',
    'm@a after 400',
    'm@a after 500',
    'm@a after 500',
    'm@a after 500',
  ]);
  expect(openQueue(['m@a'], { random: 0.25 }).drain()).toEqual(['m@a', 'm@a after 50', 'm@a after 100']);
  expect(openQueue(['m@a'], { random: 0 }).drain()).toEqual(['m@a', 'm@a after 0', 'm@a after 0']);
});

describe('a retry is not made', () => {
  it('of a failure that is not transient, or of a provider without a policy', () => {
    const lasting = failure({ isTransient: false });
    expect(openQueue(['m@a', 'm@b']).drain((name) => (name === 'm@a' ? lasting : failure()))).toEqual([
      'm@a',
      'm@b',
      'm@b after 200',
      'm@b after 400',
    ]);
    expect(openQueue(['m@a'], { without: ['a'] }).drain()).toEqual(['m@a']);
    const once = (_: string, attempt: number) => (attempt === 2 ? lasting : failure());
    expect(openQueue(['m@a']).drain(once)).toEqual(['m@a', 'm@a after 200']);
  });

  it('beyond the attempts of the policy, and of the request', () => {
    expect(openQueue(['m@a'], { policy: { attempts: 1 } }).drain()).toEqual(['m@a']);
    expect(openQueue(['m@a', 'm@b'], { maxAttempts: 3 }).drain()).toEqual(['m@a', 'm@b', 'm@a after 200']);
  });

  it('after the budget of time, or when the deadline would pass first', () => {
    expect(openQueue(['m@a']).drain(() => failure(), 4_000)).toEqual(['m@a', 'm@a after 200', 'm@a after 400']);
    expect(openQueue(['m@a']).drain(() => failure(), 5_000)).toEqual(['m@a', 'm@a after 200']);
    expect(openQueue(['m@a']).drain(() => failure(), 10_000)).toEqual(['m@a']);
    expect(openQueue(['m@a'], { deadlineMs: 200 }).drain()).toEqual(['m@a']);
    expect(openQueue(['m@a'], { deadlineMs: 201 }).drain()).toEqual(['m@a', 'm@a after 200']);
  });

  it('of a model that was skipped', () => {
    const { queue } = openQueue(['m@a', 'n@b']);
    const first = queue.next()!;
    queue.fail(first.endpoint, failure());
    queue.dropModel('m');
    const second = queue.next()!;
    expect(second.endpoint.id).toBe('n@b');
    queue.fail(second.endpoint, failure());
    expect(queue.next()!.endpoint.id).toBe('n@b');
  });

  it('without room in the budget of its provider', () => {
    const none = { share: 0, minimum: 3 };
    expect(openQueue(['m@a', 'n@a'], { policy: none }).drain()).toEqual([
      'm@a',
      'n@a',
      'm@a after 200',
      'n@a after 200',
      'm@a after 400',
    ]);
  });
});

it('waits as long as the provider requests, and not at all above the bound', () => {
  const asks = (seconds: number) => () => failure({ retryAfterSeconds: seconds });
  expect(openQueue(['m@a'], { random: 0 }).drain(asks(2))).toEqual(['m@a', 'm@a after 2000', 'm@a after 2000']);
  expect(openQueue(['m@a']).drain(asks(4))).toEqual(['m@a', 'm@a after 4200', 'm@a after 4400']);
  expect(openQueue(['m@a']).drain(asks(6))).toEqual(['m@a']);
  expect(openQueue(['m@a', 'm@b']).drain((name) => asks(name === 'm@a' ? 6 : 1)())).toEqual([
    'm@a',
    'm@b',
    'm@b after 1200',
    'm@b after 1400',
  ]);
});

it('shows when no other endpoint is left', () => {
  const { queue } = openQueue(['m@a', 'm@b']);
  const turns = [];
  for (let turn = queue.next(); turn; turn = queue.next()) {
    turns.push(turn.isLast);
    queue.fail(turn.endpoint, failure());
  }
  expect(turns).toEqual([false, true, true, true, true, true]);
});
