import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, type BusDriver, createBus, type Topic } from './bus.ts';

/** Accepts every message. */
const anyOf = (name: string): Topic<unknown> => ({ name, read: (message) => message });

/**
 * Tests the contract of all drivers.
 *
 * @param open creates three processes that are connected when it resolves
 */
export function testBus(
  name: string,
  open: () => Promise<{ drivers: readonly [BusDriver, BusDriver, BusDriver]; close: () => Promise<void> }>,
): void {
  describe(`bus: ${name}`, () => {
    const topics = ['numbers', 'letters', 'any', 'burst'].map(anyOf);
    const [numbers, letters, any, burst] = topics as [Topic<unknown>, Topic<unknown>, Topic<unknown>, Topic<unknown>];
    let buses: [Bus, Bus, Bus];
    let close: () => Promise<void>;
    let received: [string, unknown][][];
    const openBuses = async () => {
      const opened = await open();
      return { buses: opened.drivers.map(createBus) as [Bus, Bus, Bus], close: opened.close };
    };

    beforeAll(async () => {
      ({ buses, close } = await openBuses());
      received = buses.map(() => []);
      for (const [at, bus] of buses.entries()) {
        for (const topic of topics) bus.subscribe(topic, (message) => received[at]!.push([topic.name, message]));
      }
    });
    afterAll(() => close());
    /** Returns a function that lists the messages that each process has received since this call. */
    const listen = () => {
      const from = received.map(({ length }) => length);
      return () => received.map((each, at) => each.slice(from[at]));
    };

    it('delivers to all other processes in order, and never to the sender', async () => {
      const messages = listen();
      for (let at = 0; at < 3; at++) buses[0].publish(numbers, [at]);
      const all = [0, 1, 2].map((at) => ['numbers', [at]]);
      await expect.poll(messages).toEqual([[], all, all]);

      buses[2].publish(letters, 'a');
      await expect.poll(messages).toEqual([[['letters', 'a']], [...all, ['letters', 'a']], all]);
    });

    it.each([
      ['null', null],
      ['quotes and line ends', 'it\'s\n"so" \\ \r\n'],
      ['any letters', 'Größe 漢字 👍 \0 \ud83d'],
      ['nested data', { a: [1, { b: null }], c: true, d: -1.5 }],
      ['7,000 bytes', 'x'.repeat(6998)],
    ])('carries %s', async (_, message) => {
      const messages = listen();
      buses[1].publish(any, message);
      await expect.poll(messages).toEqual([[['any', message]], [], [['any', message]]]);
    });

    it('carries a burst', async () => {
      const messages = listen();
      for (let at = 0; at < 1000; at++) buses[0].publish(burst, `${at} ${'y'.repeat(at % 300)}`);
      await expect.poll(() => messages().map(({ length }) => length)).toEqual([0, 1000, 1000]);
      const order = messages()[1]!.map(([, message]) => Number.parseInt(String(message), 10));
      expect(order).toEqual(Array.from({ length: 1000 }, (_, at) => at));
    });

    it('calls each listener of a topic until it unsubscribes', async () => {
      const topic = anyOf('subscriptions');
      const calls: string[] = [];
      const record = (message: unknown) => void calls.push(`first ${message}`);
      const unsubscribe = buses[1].subscribe(topic, record);
      buses[1].subscribe(topic, record);
      const last = buses[1].subscribe(topic, (message) => calls.push(`second ${message}`));
      buses[0].publish(topic, 1);
      await expect.poll(() => calls).toEqual(['first 1', 'first 1', 'second 1']);

      unsubscribe();
      unsubscribe();
      buses[0].publish(topic, 2);
      await expect.poll(() => calls.slice(3)).toEqual(['first 2', 'second 2']);
      last();
      buses[0].publish(topic, 3);
      await expect.poll(() => calls.slice(5)).toEqual(['first 3']);
    });

    it('passes what the topic reads, and drops messages that it does not know', async () => {
      const topic: Topic<number> = {
        name: 'checked',
        read: (message) => (typeof message === 'number' ? Math.round(message) : undefined),
      };
      const payloads: number[] = [];
      buses[2].subscribe(topic, (payload) => payloads.push(payload));
      buses[0].publish(anyOf('unknown'), 1);
      for (const message of ['text', null, 4.6]) buses[0].publish(anyOf('checked'), message);
      await expect.poll(() => payloads).toEqual([5]);
    });

    it('neither sends nor receives after close, and closes twice', async () => {
      const { buses: own, close: closeOwn } = await openBuses();
      let count = 0;
      const [late, end] = [anyOf('late'), anyOf('end')];
      own[1].subscribe(end, () => void count++);
      await own[1].close();
      await own[1].close();
      own[1].publish(late, 1);
      const receivedByLast: unknown[] = [];
      for (const topic of [late, end]) own[2].subscribe(topic, () => receivedByLast.push(topic.name));
      own[0].publish(end, 1);
      await expect.poll(() => receivedByLast).toEqual(['end']);
      expect(count).toBe(0);
      await closeOwn();
    });
  });
}
