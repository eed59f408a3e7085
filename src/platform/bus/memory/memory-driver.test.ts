import { expect, it } from 'vitest';
import { createBus, type Topic } from '../bus.ts';
import { testBus } from '../contract.ts';
import { createMemoryNetwork } from './memory-driver.ts';

function open() {
  const network = createMemoryNetwork();
  return [network.join(), network.join(), network.join()] as const;
}

testBus('memory', async () => ({ drivers: open(), close: async () => {} }));

it('a single process publishes to no one', async () => {
  const topic: Topic<unknown> = { name: 'any', read: (message) => message };
  const bus = createBus(createMemoryNetwork().join());
  const received: unknown[] = [];
  bus.subscribe(topic, (message) => received.push(message));
  bus.publish(topic, 'message');
  await new Promise((resolve) => setImmediate(resolve));
  expect(received).toEqual([]);
});
