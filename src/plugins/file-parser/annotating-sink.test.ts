import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { AnnotatingSink, type AnnotationState } from './annotating-sink.ts';
import type { FileAnnotation } from './file-annotations.ts';

const file: FileAnnotation = { type: 'file', file: { hash: 'h', content: [{ type: 'text', text: 't' }] } };
const added = { type: 'annotation', annotation: file };
const citation = { type: 'url_citation', url: 'https://example.org' };
const text = (delta: string, key?: number): Chunk => ({ type: 'text', delta, ...(key !== undefined && { key }) });
const part = (key: number, words: string, annotations: object[] = []): Chunk => ({
  type: 'part_done',
  key,
  part: { type: 'output_text', text: words, annotations },
});
const item = (key: number, ...annotations: object[][]): Chunk => ({
  type: 'item_done',
  key,
  item: {
    type: 'message',
    content: annotations.map((each) => ({ type: 'output_text', text: 'x', annotations: each })),
  },
});

function open(state: AnnotationState = { current: [file], writtenBy: undefined }) {
  const passed: Chunk[] = [];
  const sink = new AnnotatingSink(state, { write: (chunks) => void passed.push(...chunks) });
  return { passed, sink, state };
}

describe('the annotations of files', () => {
  it('follow the first text, once', () => {
    const { passed, sink } = open();
    sink.write([{ type: 'start' }, text('a'), text('b')]);
    sink.write([text('c')]);
    expect(passed).toEqual([{ type: 'start' }, text('a'), added, text('b'), text('c')]);
  });

  it('are in the finished part and item of a native wire as well, before those of the provider', () => {
    const { passed, sink } = open();
    sink.write([text('a', 1), part(1, 'a', [citation]), part(1, 'b'), text('c', 2)]);
    sink.write([item(1, [citation], []), item(2, [])]);
    expect(passed).toEqual([
      text('a', 1),
      { ...added, key: 1 },
      part(1, 'a', [file, citation]),
      part(1, 'b'),
      text('c', 2),
      item(1, [file, citation], []),
      item(2, []),
    ]);
  });

  it('are in the first message that arrives as a whole', () => {
    const { passed, sink } = open();
    const call: Chunk = { type: 'item_done', key: 0, item: { type: 'function_call' } };
    sink.write([call, item(1, [citation]), item(2, [])]);
    expect(passed).toEqual([call, item(1, [file, citation]), item(2, [])]);
  });

  it('move to the next attempt if the first one fails', () => {
    const { sink, state } = open();
    sink.write([text('a')]);
    sink.abandon();
    const next = open(state);
    next.sink.write([text('b')]);
    expect(next.passed).toEqual([text('b'), added]);
    const later = open(state);
    later.sink.write([text('c')]);
    later.sink.abandon();
    expect(later.passed).toEqual([text('c')]);
    expect(state.writtenBy).toBe(next.sink);
  });

  it('are absent if the endpoint got the files themselves', () => {
    const { passed, sink } = open({ current: [], writtenBy: undefined });
    sink.write([text('a')]);
    expect(passed).toEqual([text('a')]);
  });
});
