import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import { LoopProbe } from './loop-probe.ts';
import { Metrics } from './metrics.ts';
import type { ObservedAttempt, ObservedEndpoint, ObservedRun } from './observed.ts';

const sources = {
  isStable: () => true,
  openRequests: () => 0,
  openStreams: () => 0,
  journalEntries: () => 0,
  isArchiveFailing: () => false,
  archivedRows: () => 0,
  contentsDropped: () => 0,
  exports: () => [],
  contentBytes: () => 0,
  loopDelayMs: () => 0,
  version: '0',
};
const endpoint = (model: string, pattern?: string): ObservedEndpoint => ({
  id: `${model}@p`,
  model,
  pattern,
  upstreamModel: model,
  provider: { id: 'p', name: 'P' },
});
/** The last attempt is the one whose output was passed on. */
const run = (attempts: Partial<ObservedAttempt>[], parts: Partial<ObservedRun> = {}) =>
  ({ steps: [{ attempts, committed: attempts.at(-1) }], ...parts }) as ObservedRun; // all that is counted
const entry = (parts: Partial<LedgerEntry> = {}) =>
  ({
    inputTokens: 10,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
    costNanoUsd: 2_000_000_000n,
    priced: true,
    streamed: false,
    outcome: 'completed',
    status: 200,
    ...parts,
  }) as LedgerEntry; // all that is counted
const origin = (receivedAt: number, handledAt = receivedAt) => ({
  requestId: 'r',
  route: '/api/v1/responses',
  receivedAt,
  handledAt,
  traceparent: undefined,
});
const samples = (metrics: Metrics, name: string) =>
  metrics.collect(sources).find((family) => family.name === name)!.samples;

describe('runs', () => {
  it('of more models than a bound are counted as those of `other`', () => {
    const metrics = new Metrics();
    for (let at = 0; at < 1500; at++) {
      metrics.observe(run([{ endpoint: endpoint(`m${at}`), status: 200 }]), entry());
    }
    const cost = samples(metrics, 'headgate_cost_usd_total');
    expect(cost).toHaveLength(1001);
    expect(cost.at(-1)).toEqual({ labels: { model: 'other', provider: 'other' }, value: 1000 });
  });

  it('that the gateway makes itself cost money, and are no requests', () => {
    const metrics = new Metrics();
    metrics.observe(run([{ endpoint: endpoint('m'), status: 200 }]), entry());
    expect(samples(metrics, 'headgate_responses_total')).toEqual([]);
    expect(samples(metrics, 'headgate_cost_usd_total')).toMatchObject([{ value: 2 }]);
    expect(samples(metrics, 'headgate_attempts_total')).toMatchObject([{ labels: { outcome: 'ok' }, value: 1 }]);
  });

  it('count retries, and as attempts, too', () => {
    const metrics = new Metrics();
    const tried = { endpoint: endpoint('m') };
    const failed = { ...tried, error: new GatewayError('upstream_overloaded', 'x') };
    metrics.observe(run([failed, { ...failed, isRetry: true }, { ...tried, isRetry: true }]), entry());
    const outcomes = (name: string) => samples(metrics, name).map(({ labels, value }) => [labels?.['outcome'], value]);
    expect(outcomes('headgate_attempts_total')).toEqual([
      ['upstream_overloaded', 2],
      ['ok', 1],
    ]);
    expect(outcomes('headgate_retries_total')).toEqual([
      ['upstream_overloaded', 1],
      ['ok', 1],
    ]);
  });

  it('have an overhead: all time, waiting too, but that of every attempt that was sent', () => {
    const metrics = new Metrics();
    const selected = endpoint('m');
    const now = performance.now();
    const error = new GatewayError('upstream_failed', 'no');
    const attempts = [
      { endpoint: selected, status: 400, error: new GatewayError('invalid_request', 'not sent') },
      { endpoint: selected, status: 502, error, dispatchedAt: now - 8_000, endedAt: now - 6_000 },
      { endpoint: selected, status: 200, dispatchedAt: now - 5_000, endedAt: now - 1_000 },
    ];
    metrics.observe(run(attempts, { origin: origin(now - 10_000, now - 9_500) }), entry());
    expect(samples(metrics, 'headgate_overhead_seconds')).toMatchObject([{ value: { sum: expect.closeTo(4, 0) } }]);
    expect(samples(metrics, 'headgate_queue_seconds')).toMatchObject([{ value: { sum: expect.closeTo(0.5, 3) } }]);
    expect(samples(metrics, 'headgate_attempts_total')).toMatchObject([
      { labels: { outcome: 'invalid_request' }, value: 1 },
      { labels: { outcome: 'upstream_failed' }, value: 1 },
      { labels: { outcome: 'ok' }, value: 1 },
    ]);
  });
});

it('limits are counted by what they count and whose they are', () => {
  const metrics = new Metrics();
  for (let at = 0; at < 3; at++) metrics.countLimitHit('requests', 'key');
  metrics.countLimitHit('tokens', 'workspace');
  expect(samples(metrics, 'headgate_limit_hits_total')).toEqual([
    { labels: { limit: 'requests', scope: 'key' }, value: 3 },
    { labels: { limit: 'tokens', scope: 'workspace' }, value: 1 },
  ]);
});

it('a busy event loop shows in the wait of the request that comes next', async () => {
  const probe = new LoopProbe();
  await pause(30);
  const busyUntil = performance.now() + 100;
  while (performance.now() < busyUntil);
  expect(probe.behindMs(performance.now())).toBeGreaterThan(80);
  await pause(30);
  expect(probe.takeLongestMs()).toBeGreaterThan(80);
  probe.close();
});
