import { expect, it } from 'vitest';
import { openChannelPair } from '../../../testing/channel-pair.ts';
import { createHub } from '../../cluster/hub.ts';
import { openPeer } from '../../cluster/peer.ts';
import type { Bus, Listener } from '../bus.ts';
import { testBus } from '../contract.ts';
import { openIpcBus, relayBus } from './ipc-bus.ts';

/** A primary with three workers, all in this process. */
function open(far?: Bus) {
  const hub = createHub();
  relayBus(hub, far);
  const pairs = [0, 1, 2].map(() => openChannelPair());
  const buses = pairs.map(({ ends }, slot) => {
    hub.attach(slot, ends[0]);
    return openIpcBus(openPeer(ends[1]));
  });
  const close = async () => {
    for (const pair of pairs) pair.close();
  };
  return { buses: buses as [Bus, Bus, Bus], close };
}

testBus('ipc', async () => open());

it('is joined with that of other hosts: each hears once what is published anywhere else', async () => {
  const published: unknown[] = [];
  const fromFar: Listener[] = [];
  const { buses, close } = open({
    publish: (...news) => published.push(news),
    subscribe: (listener) => void fromFar.push(listener),
    close: async () => {},
  });
  const heard: unknown[][] = buses.map(() => []);
  for (const [at, bus] of buses.entries()) bus.subscribe((_, message) => heard[at]!.push(message));
  buses[0].publish('topic', 'near');
  await expect.poll(() => heard).toEqual([[], ['near'], ['near']]);
  expect(published).toEqual([['topic', 'near']]);

  for (const listen of fromFar) listen('topic', 'far');
  await expect.poll(() => heard).toEqual([['far'], ['near', 'far'], ['near', 'far']]);
  expect(published).toHaveLength(1);
  await close();
});
