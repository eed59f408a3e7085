import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { openChannelPair } from '../../../testing/channel-pair.ts';
import { createHub } from '../../cluster/hub.ts';
import { openPeer } from '../../cluster/peer.ts';
import { testCounters } from '../contract.ts';
import { MemoryCounters } from '../memory/memory-counters.ts';
import { countersService, openRemoteCounters } from './open.ts';
import { serveCounters } from './serve.ts';

const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
});

/** A primary with workers, all in this process. */
function openPrimary() {
  const hub = createHub();
  const counters = new MemoryCounters();
  hub.provide(countersService, (worker) => serveCounters(counters, worker));
  let workers = 0;
  return {
    counters,
    openWorker() {
      const { ends, close } = openChannelPair();
      closers.push(close);
      hub.attach(workers++, ends[0]);
      return { counters: openRemoteCounters(openPeer(ends[1])), die: close };
    },
  };
}

const primary = openPrimary();
testCounters('remote', async () => primary.openWorker().counters);

describe('counters: remote alone', () => {
  const limits = { requests_per_minute: 0, tokens_per_minute: 0, concurrent_requests: 1 };
  const request = () => ({
    id: randomUUID(),
    scopes: [{ id: 'key k', limits }],
    isConcurrent: true,
    tokens: 0,
    leaseMs: 60_000,
  });
  const reservation = () => ({
    id: randomUUID(),
    reservationMs: 60_000,
    claims: [
      {
        account: 'key k',
        nanoUsd: 10n,
        startsMs: [0, 1, 1, 1],
        recordedNanoUsd: [0n, 0n, 0n, 0n],
        readAtMs: 0,
        limits: [{ window: 'daily' as const, nanoUsd: 10n, isExhaustedWhenReached: true }],
      },
    ],
  });

  it('gives back what a worker had open that ended', async () => {
    const { openWorker, counters } = openPrimary();
    const [one, two] = [openWorker(), openWorker()];
    expect(await one.counters.admit(request())).toHaveProperty('atMs');
    expect(await one.counters.reserve(reservation())).toBeUndefined();
    expect(await two.counters.admit(request())).toMatchObject({ limit: 'concurrent_requests' });
    expect(await two.counters.reserve(reservation())).toMatchObject({ reservedNanoUsd: 10n });
    one.die();
    await expect.poll(() => counters.admit(request())).toHaveProperty('atMs');
    expect(await two.counters.reserve(reservation())).toBeUndefined();
  });

  it('says that the gateway ends when the primary is gone', async () => {
    const { openWorker } = openPrimary();
    const worker = openWorker();
    worker.die();
    const refused = expect.objectContaining({ kind: 'unavailable', retryAfterSeconds: 1 });
    await expect(worker.counters.admit(request())).rejects.toEqual(refused);
    await expect(worker.counters.reserve(reservation())).rejects.toEqual(refused);
    await worker.counters.settle(reservation(), { atMs: 1, costsNanoUsd: [1n] });
  });
});
