import { expect, it } from 'vitest';
import { openChannelPair } from '../../../testing/channel-pair.ts';
import { createHub } from '../../cluster/hub.ts';
import { openPeer } from '../../cluster/peer.ts';
import { type BusDriver, createBus, type MessageReceiver, type Topic } from '../bus.ts';
import { testBus } from '../contract.ts';
import { openIpcDriver, relayMessages } from './ipc-driver.ts';

/** Opens a primary with three workers, all in this process. */
function open(far?: BusDriver) {
  const hub = createHub();
  relayMessages(hub, far);
  const pairs = [0, 1, 2].map(() => openChannelPair());
  const drivers = pairs.map(({ ends }, slot) => {
    hub.attach(slot, ends[0]);
    return openIpcDriver(openPeer(ends[1]));
  });
  const close = async () => {
    for (const pair of pairs) pair.close();
  };
  return { drivers: drivers as [BusDriver, BusDriver, BusDriver], close };
}

testBus('ipc', async () => open());

it('workers exchange messages with other hosts, each message once', async () => {
  const sent: unknown[] = [];
  let receiveFar: MessageReceiver | undefined;
  const { drivers, close } = open({
    send: (...message) => sent.push(message),
    receive(receiver) {
      receiveFar = receiver;
    },
    close: async () => {},
  });
  const topic: Topic<unknown> = { name: 'topic', read: (message) => message };
  const buses = drivers.map(createBus);
  const received: unknown[][] = buses.map(() => []);
  for (const [at, bus] of buses.entries()) bus.subscribe(topic, (message) => received[at]!.push(message));
  buses[0]!.publish(topic, 'near');
  await expect.poll(() => received).toEqual([[], ['near'], ['near']]);
  expect(sent).toEqual([['topic', 'near']]);

  receiveFar?.('topic', 'far');
  await expect.poll(() => received).toEqual([['far'], ['near', 'far'], ['near', 'far']]);
  expect(sent).toHaveLength(1);
  await close();
});
