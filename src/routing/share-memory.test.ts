import { afterEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { type BusDriver, createBus } from '../platform/bus/bus.ts';
import { createMemoryNetwork } from '../platform/bus/memory/memory-driver.ts';
import { Health } from './health.ts';
import { type SharedMemory, shareMemory } from './share-memory.ts';
import { StickyMemory } from './sticky.ts';

const nowMs = 1_790_000_000_000;
const opened: SharedMemory[] = [];
afterEach(() => {
  for (const shared of opened.splice(0)) shared.close();
});

/** Opens processes on one bus. */
function connect(count: number) {
  const sent: [number, string, unknown][] = [];
  const network = createMemoryNetwork();
  const processes = Array.from({ length: count }, (_, at) => {
    const health = new Health(() => nowMs);
    const sticky = new StickyMemory(
      () => 60_000,
      () => nowMs,
    );
    const driver = network.join();
    const recording: BusDriver = {
      ...driver,
      send(topic, message) {
        sent.push([at, topic, message]);
        driver.send(topic, message);
      },
    };
    const shared = shareMemory({ health, sticky, bus: createBus(recording), now: () => nowMs });
    opened.push(shared);
    return { health, sticky, driver, shared };
  });
  return { processes, sent };
}
const fault = (options = {}) => ({ atMs: nowMs, error: new GatewayError('upstream_failed', 'gone', options) });
const answer = { atMs: nowMs, error: undefined, firstOutputMs: 20, durationMs: 1000, outputTokens: 50 };
const endpoint = { id: 'acme/one@acme' };
const session = { key: 's:1', isExplicit: true };

describe('processes that share their memory', () => {
  it('share the start and the end of an outage, without an echo', async () => {
    const { processes, sent } = connect(3);
    for (let at = 0; at < 3; at++) processes[0]!.health.record(endpoint.id, fault());
    const stable = () => processes.map(({ health }) => health.view(endpoint)?.isStable);
    expect(stable()).toEqual([false, undefined, undefined]);
    await expect.poll(stable).toEqual([false, false, false]);
    expect(sent).toHaveLength(3);
    for (let at = 0; at < 3; at++) processes[2]!.health.record(endpoint.id, { ...answer, toolCalls: 'sound' });
    await expect.poll(stable).toEqual([true, true, true]);
    expect(processes[1]!.health.view(endpoint)?.latencyMs('p50')).toBe(20);
    expect(processes[1]!.health.view(endpoint)?.throughput('p50')).toBe(50);
  });

  it('skip an endpoint that sent one of them a Retry-After', async () => {
    const { processes } = connect(2);
    const error = new GatewayError('rate_limited', 'slowly', { retryAfterSeconds: 60 });
    processes[0]!.health.record(endpoint.id, { atMs: nowMs, error });
    await expect.poll(() => processes[1]!.health.view(endpoint)?.isStable).toBe(false);
  });

  it('avoid an endpoint that limited the rate of one of them and named no wait', async () => {
    const { processes } = connect(2);
    processes[0]!.health.record(endpoint.id, { atMs: nowMs, error: new GatewayError('rate_limited', 'slowly') });
    await expect.poll(() => processes[1]!.health.view(endpoint)?.isLimited).toBe(true);
  });

  it('remember the endpoint of a session that another process served', async () => {
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

  it('share no client faults, and a bounded number of successes', async () => {
    const { processes, sent } = connect(2);
    const refused = new GatewayError('invalid_request', 'no');
    processes[0]!.health.record(endpoint.id, { atMs: nowMs, error: refused });
    processes[0]!.health.record(endpoint.id, fault({ isRegional: true }));
    for (let at = 0; at < 5000; at++) processes[0]!.health.record(endpoint.id, answer);
    processes[0]!.health.record(endpoint.id, fault());
    await expect.poll(() => sent.length).toBe(201);
    expect(sent.at(-1)).toMatchObject([
      0,
      'health',
      [endpoint.id, ['upstream_failed', false, null], null, null, null, null],
    ]);
  });

  it('ignore unknown messages', async () => {
    const { processes } = connect(2);
    const [{ health, sticky }, { driver }] = processes as [(typeof processes)[0], (typeof processes)[0]];
    const odd = [null, 'text', [], [1], ['id', 'error'], ['id', ['unheard-of', true, 1]], ['id', [{}, 1]], { id: 1 }];
    for (const topic of ['health', 'sticky', 'weather']) for (const message of odd) driver.send(topic, message);
    driver.send('health', ['last', null]);
    await expect.poll(() => health.view({ id: 'last' })).toBeDefined();
    expect(health.view({ id: 'id' })).toBeUndefined();
    expect(sticky.size).toBe(0);
    driver.send('health', ['id', null, 'x', Number.NaN, {}, 'both']);
    await expect.poll(() => health.view({ id: 'id' })).toBeDefined();
    expect(health.view({ id: 'id' })?.latencyMs('p50')).toBeUndefined();
  });
});
