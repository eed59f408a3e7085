import { afterEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import { openChannelPair } from '../../testing/channel-pair.ts';
import type { Channel } from './channel.ts';
import { createHub, type WorkerLink } from './hub.ts';
import { openPeer, PeerClosedError } from './peer.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function openPair() {
  const pair = openChannelPair();
  closers.push(pair.close);
  return { ...pair, peers: [openPeer(pair.ends[0]), openPeer(pair.ends[1])] as const };
}

describe('a peer', () => {
  it('calls a service of the other end, including its nested objects, and receives clones', async () => {
    const [worker, primary] = openPair().peers;
    const sums = {
      add: (a: bigint, b: bigint) => a + b,
      nested: { reverse: async (list: readonly number[]) => list.toReversed(), nothing() {} },
    };
    primary.provide('sums', sums);
    const remote = worker.use<typeof sums>('sums');

    expect(await remote.add(2n ** 63n, 1n)).toBe(2n ** 63n + 1n);
    expect(await remote.nested.reverse([1, 2, 3])).toEqual([3, 2, 1]);
    expect(await remote.nested.nothing()).toBeUndefined();
  });

  it('keeps `this` of a method, and can itself be awaited without a call', async () => {
    const [worker, primary] = openPair().peers;
    class Counter {
      count = 0;
      next(): number {
        return ++this.count;
      }
    }
    primary.provide('counter', new Counter());
    const remote = await Promise.resolve(worker.use<Counter>('counter'));
    expect(await Promise.all([remote.next(), remote.next()])).toEqual([1, 2]);
  });

  it('is called from both ends at once', async () => {
    const [one, two] = openPair().peers;
    one.provide('name', { tell: () => 'one' });
    two.provide('name', { tell: () => 'two' });
    const names = [one, two].map((peer) => peer.use<{ tell(): string }>('name').tell());
    expect(await Promise.all(names)).toEqual(['two', 'one']);
  });

  it('sends all calls of one turn as one message, and all results as one', async () => {
    const { ends, close } = openChannelPair();
    closers.push(close);
    const counted = ends.map((end) => {
      const sent: unknown[] = [];
      const channel: Channel = { ...end, send: (message) => end.send(sent[sent.push(message) - 1]) };
      return { sent, peer: openPeer(channel) };
    });
    const [worker, primary] = counted as [(typeof counted)[0], (typeof counted)[0]];
    primary.peer.provide('echo', { say: (text: string) => text });
    const remote = worker.peer.use<{ say(text: string): string }>('echo');
    expect(await Promise.all(['a', 'b', 'c'].map((text) => remote.say(text)))).toEqual(['a', 'b', 'c']);
    expect([worker.sent.length, primary.sent.length]).toEqual([1, 1]);
  });

  it('sends calls without a result, in order with others', async () => {
    const [worker, primary] = openPair().peers;
    const heard: string[] = [];
    primary.provide('ear', { hear: (text: string) => heard.push(text) });
    worker.tell('nose', 'smell', 'nothing');
    worker.tell('ear', 'hear', 'first');
    await worker.use<{ hear(text: string): number }>('ear').hear('second');
    expect(heard).toEqual(['first', 'second']);
  });

  it('throws the error of the service, with its class, its fields and its cause', async () => {
    const [worker, primary] = openPair().peers;
    const busy = Object.assign(new Error('database is locked'), {
      code: 'ERR_SQLITE_ERROR',
      errcode: 5,
      hold: () => 1,
    });
    const refused = new GatewayError('rate_limited', 'Too much.', {
      retryAfterSeconds: 7,
      metadata: { limit: 'requests' },
      cause: busy,
    });
    const several = new AggregateError([new TypeError('no such host'), 'text'], 'all failed');
    const errors = [busy, refused, several, 'only text'];
    primary.provide('fail', {
      now(at: number) {
        throw errors[at];
      },
      later: (at: number) => Promise.reject(errors[at]),
    });
    type Fail = { now(at: number): void; later(at: number): Promise<void> };
    const fail = worker.use<Fail>('fail');

    expect(await fail.now(0).catch((error) => error)).toMatchObject({ message: 'database is locked', errcode: 5 });
    const second = await fail.later(1).catch((error) => error);
    expect(second).toBeInstanceOf(GatewayError);
    expect(second).toMatchObject({ ...refused, cause: { code: 'ERR_SQLITE_ERROR' } });
    expect(second.stack).toBe(refused.stack);
    const third = await fail.later(2).catch((error) => error);
    expect(third.name).toBe('AggregateError');
    expect(third.errors.map(String)).toEqual(['TypeError: no such host', 'Error: text']);
    await expect(fail.now(3)).rejects.toThrow('only text');
  });

  it('rejects a call whose arguments or result cannot be cloned, and no other', async () => {
    const [worker, primary] = openPair().peers;
    const service = { echo: (value: unknown) => value, give: (): unknown => () => 1 };
    primary.provide('service', service);
    const remote = worker.use<typeof service>('service');
    const [bad, worse, good] = await Promise.allSettled([remote.echo(() => 1), remote.give(), remote.echo(1n)]);
    expect(bad).toMatchObject({ status: 'rejected', reason: { name: 'DataCloneError' } });
    expect(worse).toMatchObject({ status: 'rejected', reason: { name: 'DataCloneError' } });
    expect(good).toEqual({ status: 'fulfilled', value: 1n });
  });

  it('reports a missing service or method', async () => {
    const [worker, primary] = openPair().peers;
    primary.provide('there', { a: 1 });
    await expect(worker.use<{ b(): void }>('there').b()).rejects.toThrow('The other process has no there.b.');
    await expect(worker.use<{ b(): void }>('gone').b()).rejects.toThrow('The other process has no gone.b.');
  });

  it('rejects open calls when the other end closes, and every call after that', async () => {
    const { peers, close } = openPair();
    const [worker, primary] = peers;
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    primary.provide('slow', {
      never() {
        isAsked();
        return new Promise(() => {});
      },
    });
    const remote = worker.use<{ never(): void }>('slow');
    const call = remote.never();
    await asked;
    close();
    await expect(call).rejects.toThrow(PeerClosedError);
    expect(worker.gone.aborted).toBe(true);
    await expect(remote.never()).rejects.toThrow(PeerClosedError);
    worker.tell('slow', 'never'); // there is no receiver and no error
  });
});

describe('a hub', () => {
  it('offers a service to all workers, with the calling worker and a signal for its end', async () => {
    const hub = createHub();
    const links: WorkerLink[] = [];
    hub.provide('who', (worker) => {
      links.push(worker);
      return { ami: () => worker.slot };
    });
    const pairs = [0, 1].map(() => openChannelPair());
    closers.push(...pairs.map(({ close }) => close));
    const workers = pairs.map(({ ends }, slot) => {
      hub.attach(slot, ends[0]);
      return openPeer(ends[1]);
    });

    const slots = workers.map((worker) => worker.use<{ ami(): number }>('who').ami());
    expect(await Promise.all(slots)).toEqual([0, 1]);
    expect([...hub.peers.keys()]).toEqual([0, 1]);
    pairs[0]!.close();
    await expect.poll(() => links.map(({ gone }) => gone.aborted)).toEqual([true, false]);
    expect([...hub.peers.keys()]).toEqual([1]);
  });
});
