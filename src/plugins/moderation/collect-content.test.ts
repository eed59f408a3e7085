import { expect, it } from 'vitest';
import type { InputItem } from '../../domain/items.ts';
import { WORK_PER_SLICE, type SlicedWork, WorkSlices } from '../../domain/work-slices.ts';
import { collectContent, findAdded, hashContent } from './collect-content.ts';

const count = 20_000;
const say = (content: unknown) => ({ type: 'message', role: 'user', content }) as InputItem;
const part = (at: number) => ({ type: 'input_text', text: `text ${at}` });

/** Counts the reads of a list, and the most of them between two pauses. */
async function observe<Value>(items: unknown[], work: (items: unknown[]) => SlicedWork<Value>) {
  let reads = 0;
  let most = 0;
  const pause = async () => {
    most = Math.max(most, reads);
    reads = 0;
  };
  const observed = new Proxy(items, {
    get(target, name) {
      reads++;
      return Reflect.get(target, name);
    },
  });
  const value = await new WorkSlices(pause, {}).run(work(observed));
  await pause();
  return { value, most };
}

it('collects many messages, and many texts of one message, in slices of bounded work', async () => {
  const limit = 4 * WORK_PER_SLICE;
  const messages = Array.from({ length: count }, (_, at) => say(`text ${at}`));
  const parts = Array.from({ length: count }, (_, at) => part(at));
  for (const { value, most } of [
    await observe(messages, (items) => collectContent(items as InputItem[])),
    await observe(parts, (content) => collectContent([say(content)])),
  ]) {
    expect(value.texts[0]).toMatch(/^text 0\n\ntext 1\n/);
    expect(value.texts.at(-1)).toMatch(/text 19999$/);
    expect(most).toBeLessThan(limit);
  }
});

it('finds the parts that plugins have added, and nothing else', async () => {
  const slices = new WorkSlices(() => Promise.resolve(), {});
  const kept = part(1);
  const other = say('as before');
  const added = await slices.run(
    findAdded(
      [say([kept, part(2)]), other],
      [say([kept, part(3)]), other, { type: 'message', role: 'system', content: 'x' }],
    ),
  );
  expect(added).toEqual([say([part(3)])]);
});

it('tells contents apart by their hash', async () => {
  const slices = new WorkSlices(() => Promise.resolve(), {});
  const contents = [
    { texts: ['ab'], images: [] },
    { texts: ['a', 'b'], images: [] },
    { texts: ['a'], images: ['b'] },
    { texts: [], images: ['ab'] },
  ];
  const hashes = await Promise.all(contents.map((content) => slices.run(hashContent(content))));
  expect(new Set(hashes).size).toBe(contents.length);
  expect(await slices.run(hashContent({ texts: ['ab'], images: [] }))).toBe(hashes[0]);
});
