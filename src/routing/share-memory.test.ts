import { afterEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { Health } from './health.ts';
import { type SharedMemory, shareMemory } from './share-memory.ts';
import { StickyMemory } from './sticky.ts';

const nowMs = 1_790_000_000_000;
const opened: SharedMemory[] = [];
afterEach(() => {
  for (const shared of opened.splice(0)) shared.close();
});

/** Processes that hear of one another; what is told passes through JSON, as between hosts. */
function connect(count: number) {
  const told: [number, string, unknown][] = [];
  const processes = Array.from({ length: count }, (_, at) => {
    const health = new Health(() => nowMs);
    const sticky = new StickyMemory(
      () => 60_000,
      () => nowMs,
    );
    const shared = shareMemory({
      health,
      sticky,
      publish(topic, message) {
        told.push([at, topic, message]);
        const copy = JSON.parse(JSON.stringify(message));
        for (const [other, { shared }] of processes.entries()) if (other !== at) shared.receive(topic, copy);
      },
      now: () => nowMs,
    });
    opened.push(shared);
    return { health, sticky, shared };
  });
  return { processes, told };
}
const fault = (options = {}) => ({ atMs: nowMs, error: new GatewayError('upstream_failed', 'gone', options) });
const answer = { atMs: nowMs, error: undefined, firstOutputMs: 20, durationMs: 1000, outputTokens: 50 };
const endpoint = { id: 'acme/one@acme' };
const session = { key: 's:1', isExplicit: true };

describe('several processes', () => {
  it('learn from one another that an endpoint has an outage, and that it is over; nobody hears an echo', async () => {
    const { processes, told } = connect(3);
    for (let at = 0; at < 3; at++) processes[0]!.health.record(endpoint.id, fault());
    const stable = () => processes.map(({ health }) => health.view(endpoint)?.isStable);
    expect(stable()).toEqual([false, undefined, undefined]);
    await expect.poll(stable).toEqual([false, false, false]);
    expect(told).toHaveLength(3);
    for (let at = 0; at < 3; at++) processes[2]!.health.record(endpoint.id, { ...answer, toolCalls: 'sound' });
    await expect.poll(stable).toEqual([true, true, true]);
    expect(processes[1]!.health.view(endpoint)?.latencyMs('p50')).toBe(20);
    expect(processes[1]!.health.view(endpoint)?.throughput('p50')).toBe(50);
  });

  it('leave an endpoint alone that told one of them when to come back', async () => {
    const { processes } = connect(2);
    const error = new GatewayError('rate_limited', 'slowly', { retryAfterSeconds: 60 });
    processes[0]!.health.record(endpoint.id, { atMs: nowMs, error });
    await expect.poll(() => processes[1]!.health.view(endpoint)?.isStable).toBe(false);
  });

  it('remember where a session went that another one served', async () => {
    const { processes } = connect(2);
    const derived = { key: 'd:1', isExplicit: false };
    processes[0]!.sticky.remember('main', 'acme/one', session, endpoint.id, 'acme/one');
    processes[0]!.sticky.remember('main', 'acme/one', derived, 'other', 'acme/two');
    const { sticky } = processes[1]!;
    await expect.poll(() => sticky.find('main', 'acme/one', session)).toMatchObject({ endpoint: endpoint.id });
    expect(sticky.find('main', 'acme/one', derived)).toMatchObject({ endpoint: 'other', model: 'acme/two' });
    expect(sticky.mayKnowDerived).toBe(true);
    expect(sticky.find('other', 'acme/one', session)).toBeUndefined();
  });

  it('do not tell what speaks against a client, nor more answers than say something new', async () => {
    const { processes, told } = connect(2);
    const refused = new GatewayError('invalid_request', 'no');
    processes[0]!.health.record(endpoint.id, { atMs: nowMs, error: refused });
    processes[0]!.health.record(endpoint.id, fault({ isRegional: true }));
    for (let at = 0; at < 5000; at++) processes[0]!.health.record(endpoint.id, answer);
    processes[0]!.health.record(endpoint.id, fault());
    await expect.poll(() => told.length).toBe(201);
    expect(told.at(-1)).toMatchObject([
      0,
      'health',
      [endpoint.id, ['upstream_failed', false, null], null, null, null, null],
    ]);
  });

  it('make nothing of news that they do not know', () => {
    const { processes } = connect(1);
    const { health, sticky, shared } = processes[0]!;
    const odd = [null, 'text', [], [1], ['id', 'error'], ['id', ['unheard-of', true, 1]], ['id', [{}, 1]], { id: 1 }];
    for (const topic of ['health', 'sticky', 'weather']) for (const message of odd) shared.receive(topic, message);
    expect(health.view({ id: 'id' })).toBeUndefined();
    expect(sticky.size).toBe(0);
    shared.receive('health', ['id', null, 'x', Number.NaN, {}, 'both']);
    expect(health.view({ id: 'id' })?.latencyMs('p50')).toBeUndefined();
  });
});
