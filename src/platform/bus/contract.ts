import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bus } from './bus.ts';

/**
 * What every bus must do.
 *
 * @param open makes three processes that are connected when it resolves
 */
export function testBus(
  name: string,
  open: () => Promise<{ buses: [Bus, Bus, Bus]; close: () => Promise<void> }>,
): void {
  describe(`bus: ${name}`, () => {
    let buses: [Bus, Bus, Bus];
    let close: () => Promise<void>;
    let heard: [string, unknown][][];

    beforeAll(async () => {
      ({ buses, close } = await open());
      heard = buses.map(() => []);
      for (const [at, bus] of buses.entries()) bus.subscribe((topic, message) => heard[at]!.push([topic, message]));
    });
    afterAll(() => close());
    /** What each hears from now on. */
    const listen = () => {
      const from = heard.map(({ length }) => length);
      return () => heard.map((each, at) => each.slice(from[at]));
    };

    it('tells all others, in order, and never oneself', async () => {
      const news = listen();
      for (let at = 0; at < 3; at++) buses[0].publish('numbers', [at]);
      const all = [0, 1, 2].map((at) => ['numbers', [at]]);
      await expect.poll(news).toEqual([[], all, all]);

      buses[2].publish('letters', 'a');
      await expect.poll(news).toEqual([[['letters', 'a']], [...all, ['letters', 'a']], all]);
    });

    it.each([
      ['null', null],
      ['quotes and line ends', 'it\'s\n"so" \\ \r\n'],
      ['any letters', 'Größe 漢字 👍 \0 \ud83d'],
      ['nested data', { a: [1, { b: null }], c: true, d: -1.5 }],
      ['7,000 bytes', 'x'.repeat(6998)],
    ])('carries %s', async (_, message) => {
      const news = listen();
      buses[1].publish('any', message);
      await expect.poll(news).toEqual([[['any', message]], [], [['any', message]]]);
    });

    it('carries a burst', async () => {
      const news = listen();
      for (let at = 0; at < 1000; at++) buses[0].publish('burst', `${at} ${'y'.repeat(at % 300)}`);
      await expect.poll(() => news().map(({ length }) => length), { timeout: 5000 }).toEqual([0, 1000, 1000]);
      const numbers = news()[1]!.map(([, message]) => Number.parseInt(String(message), 10));
      expect(numbers).toEqual(Array.from({ length: 1000 }, (_, at) => at));
    });

    it('is silent once it is closed, and closes twice', async () => {
      const { buses: own, close: closeOwn } = await open();
      let count = 0;
      own[1].subscribe(() => void count++);
      await own[1].close();
      await own[1].close();
      own[1].publish('late', 1);
      const heardByLast: unknown[] = [];
      own[2].subscribe((topic) => heardByLast.push(topic));
      own[0].publish('end', 1);
      await expect.poll(() => heardByLast).toEqual(['end']);
      expect(count).toBe(0);
      await closeOwn();
    });
  });
}
