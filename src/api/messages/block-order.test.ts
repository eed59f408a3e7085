import { expect, it } from 'vitest';
import { BlockOrder } from './block-order.ts';
import type { BlockEvent } from './wire.ts';

const start = (index: number): BlockEvent => ({
  type: 'content_block_start',
  index,
  content_block: { type: 'tool_use', id: `call_${index}`, name: 'weather', input: {} },
});
const delta = (index: number, text: string): BlockEvent => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: text },
});
const stop = (index: number): BlockEvent => ({ type: 'content_block_stop', index });

function order(events: readonly BlockEvent[]): BlockEvent[] {
  const sent: BlockEvent[] = [];
  const blocks = new BlockOrder((event) => sent.push(event));
  for (const event of events) blocks.take(event);
  return sent;
}

it('sends the blocks of calls whose pieces are mixed one after another', () => {
  const mixed = [start(0), start(1), delta(0, '{"a":'), delta(1, '{"b":'), delta(1, '2}'), delta(0, '1}')];
  const first = [start(0), delta(0, '{"a":'), delta(0, '1}'), stop(0)];
  const second = [start(1), delta(1, '{"b":'), delta(1, '2}'), stop(1)];
  expect(order([...mixed, stop(0), stop(1)])).toEqual([...first, ...second]);
  expect(order([...mixed, stop(1), stop(0)])).toEqual([...first, ...second]);
});

it('sends the pieces of the second block at once after the first one has ended', () => {
  const events = [start(0), start(1), delta(1, '{'), start(2), stop(2), stop(0), delta(1, '}')];
  expect(order(events)).toEqual([start(0), stop(0), start(1), delta(1, '{'), delta(1, '}')]);
  expect(order([...events, stop(1)]).slice(-3)).toEqual([stop(1), start(2), stop(2)]);
});

it('does not delay blocks that are in order', () => {
  const sent: BlockEvent[] = [];
  const blocks = new BlockOrder((event) => sent.push(event));
  for (const event of [start(0), delta(0, '{}'), stop(0), start(1), stop(1)]) {
    blocks.take(event);
    expect(sent.at(-1)).toBe(event);
  }
});
