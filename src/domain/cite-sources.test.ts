import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Chunk } from './chunks.ts';
import { CitingSink, type CitableSource } from './cite-sources.ts';
import { LinkScanner } from './link-scanner.ts';

const sources: CitableSource[] = ['a', 'b', 'c'].map((name) => ({
  url: `https://${name}.example/x`,
  title: name.toUpperCase(),
  content: `Text of ${name}.`,
}));

/** Passes batches through a sink. @returns the chunks that it passed on */
function revise(
  batches: Chunk[][],
  named = new Set<string>(),
  known: readonly CitableSource[] | null = sources,
): Chunk[] {
  const passed: Chunk[] = [];
  const sink = new CitingSink(
    { sources: () => known ?? undefined, named },
    { write: (chunks) => void passed.push(...chunks) as undefined },
  );
  for (const batch of batches) sink.write(batch);
  return passed;
}

const finish: Chunk = { type: 'finish', reason: 'stop' };
const annotationsOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) =>
    chunk.type === 'annotation'
      ? [chunk.annotation as { url: string; start_index: number; end_index: number; content?: string }]
      : [],
  );
/** Cuts a text into pieces of these lengths, again and again. */
function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

describe('links', () => {
  it.each<[string, (string | undefined)[]]>([
    ['[a](https://a.example)', ['[a](https://a.example)']],
    ['![a](https://a.example)', ['[a](https://a.example)']],
    ['[[1]](https://a.example)', ['[[1]](https://a.example)']],
    ['[a](https://a.example/b_(c)) d)', ['[a](https://a.example/b_(c))']],
    ['[a](https://a.example "a title")', ['[a](https://a.example "a title")']],
    ['[a]( <https://a.example> )', ['[a]( <https://a.example> )']],
    ['[a][1] (https://a.example) [b] (https://a.example) []() [a](', []],
    ['a](https://a.example) [a](https://b.example', []],
    ['[a](https://a.example "no end\n) [b](https://b.example)', ['[b](https://b.example)']],
    [`[a](https://a.example/${'x'.repeat(3000)}) [b](https://b.example)`, ['[b](https://b.example)']],
    [`${'['.repeat(100_000)}b](https://b.example)`, ['[b](https://b.example)']],
  ])('of %j', (text, expected) => {
    const found = new LinkScanner().read(text) ?? [];
    expect(found.map(({ start, end }) => text.slice(start, end))).toEqual(expected);
  });

  it('are the same however the text is cut', () => {
    const piece = fc.constantFrom(
      '[',
      ']',
      '(',
      ')',
      '<',
      ' ',
      '"',
      '\n',
      'x',
      '😀',
      'https://a.example',
      '[b](https://b.example)',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (parts, sizes) => {
          const text = parts.join('');
          const scanner = new LinkScanner();
          const found = cut(text, sizes).flatMap((each) => scanner.read(each) ?? []);
          expect(found).toEqual(new LinkScanner().read(text) ?? []);
          expect(scanner.position).toBe(text.length);
          for (const { start, end } of found) expect(text.slice(start, end)).toMatch(/^\[.*\]\(.*\)$/s);
        },
      ),
    );
  });
});

describe('a citing sink', () => {
  const text = 'See [a](https://a.example/x) and [b](https://b.example/x/).';

  it('annotates a link right after it, and the other sources before the message ends', () => {
    const passed = revise([...cut(text, [5]).map((delta): Chunk[] => [{ type: 'text', delta }]), [finish]]);
    expect(passed.flatMap((chunk) => (chunk.type === 'text' ? chunk.delta : [])).join('')).toBe(text);
    expect(annotationsOf(passed)).toMatchObject([
      { url: 'https://a.example/x', start_index: 4, end_index: 28, content: 'Text of a.' },
      { url: 'https://b.example/x', start_index: 33 },
      { url: 'https://c.example/x', start_index: 0, end_index: 0 },
    ]);
    const emitted = passed
      .slice(
        0,
        passed.findIndex(({ type }) => type === 'annotation'),
      )
      .flatMap((chunk) => (chunk.type === 'text' ? chunk.delta : []));
    expect(emitted.join('').length).toBeLessThan(28 + 5);
    expect(passed.at(-1)).toBe(finish);
  });

  it('has the same annotations for a whole item as for its pieces', () => {
    const part = { type: 'output_text', text, annotations: [] };
    const item = { id: 'm', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const [whole] = revise([[{ type: 'item_done', key: 0, item }, finish]]);
    const streamed = revise([
      [
        { type: 'item', key: 0, item: { ...item, content: [] } },
        { type: 'part', key: 0, part: { ...part, text: '' } },
      ],
      ...cut(text, [7]).map((delta): Chunk[] => [{ type: 'text', delta, key: 0 }]),
      [{ type: 'part_done', key: 0, part }, { type: 'item_done', key: 0, item }, finish],
    ]);
    const readItem = (chunk: Chunk | undefined) =>
      chunk?.type === 'item_done' && (chunk.item['content'] as { annotations: object[] }[])[0]!.annotations;
    expect(readItem(whole)).toHaveLength(3);
    expect(readItem(streamed.find(({ type }) => type === 'item_done'))).toEqual(readItem(whole));
  });

  it('keeps the annotations of the provider, and their order', () => {
    const theirs = { type: 'url_citation', url: 'https://theirs.example/', title: '', start_index: 0, end_index: 3 };
    const item = { id: 'm', type: 'message', content: [{ type: 'output_text', text, annotations: [theirs] }] };
    const passed = revise([
      [
        { type: 'text', delta: text.slice(0, 30), key: 0 },
        { type: 'annotation', annotation: theirs, key: 0 },
      ],
      [{ type: 'text', delta: text.slice(30), key: 0 }, { type: 'item_done', key: 0, item }, finish],
    ]);
    const last = passed.find((chunk) => chunk.type === 'item_done')!;
    const { annotations } = (last.item['content'] as { annotations: { url: string }[] }[])[0]!;
    expect(annotations.map(({ url }) => url)).toEqual([
      'https://a.example/x',
      'https://theirs.example/',
      'https://b.example/x',
      'https://c.example/x',
    ]);
  });

  it('lists a source once, also over several steps, and leaves the output alone without sources', () => {
    const named = new Set<string>();
    const first = revise(
      [[{ type: 'text', delta: 'One.' }, { type: 'tool_call', callId: '1', name: 'f' }, finish]],
      named,
      sources.slice(0, 1),
    );
    expect(first.map(({ type }) => type)).toEqual(['text', 'annotation', 'tool_call', 'finish']);
    const second = revise([[{ type: 'text', delta: text }, finish]], named);
    expect(annotationsOf(second).map(({ url, content }) => [url, content])).toEqual([
      ['https://a.example/x', undefined],
      ['https://b.example/x', 'Text of b.'],
      ['https://c.example/x', 'Text of c.'],
    ]);
    const chunks: Chunk[] = [{ type: 'text', delta: text }, finish];
    expect(revise([chunks], new Set(), null)).toEqual(chunks);
    expect(annotationsOf(revise([[{ type: 'tool_call', callId: '1', name: 'f' }, finish]]))).toEqual([]);
  });
});
