import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createEventReader } from './event-stream.ts';

const text = 'retry: 2000\nid: a\n\nid: b\ndata: {"x":1}\n\n: waiting\nid: c\n\ndata: one\r\ndata: two\r\n\r\n';
const expected = [
  { id: 'a', data: undefined },
  { id: 'b', data: '{"x":1}' },
  { id: 'c', data: undefined },
  { id: 'c', data: 'one\ntwo' },
];

it('reads the same events wherever the network cuts the text', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const read = createEventReader();
      const ends = [...cuts.sort((a, b) => a - b), text.length];
      const events = ends.flatMap((end, at) => read(text.slice(at === 0 ? 0 : ends[at - 1], end)));
      expect(events).toEqual(expected);
    }),
  );
});
