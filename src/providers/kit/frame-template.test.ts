import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameTemplate } from './frame-template.ts';

const frame = (delta: unknown, number: unknown = 7, rest = '') =>
  `{"n":${JSON.stringify(number)},"a":[{"delta":{"content":${JSON.stringify(delta)}}}]${rest}}`;
const learn = (data: string, ...holes: [string, string | number][]) =>
  FrameTemplate.learn(
    data,
    holes.map(([key, value]) => ({ key, value })),
  );

describe('a template', () => {
  const template = learn(frame('one'), ['content', 'one'], ['n', 7])!;

  it('reads the delta of a frame that differs in nothing but its holes', () => {
    expect(template.read(frame('two', 12345))).toBe('two');
    expect(template.read(frame(''))).toBe('');
    expect(template.read(frame('line\n"quoted" \\ é 😀 \u0007'))).toBe('line\n"quoted" \\ é 😀 \u0007');
  });

  it.each([
    ['another shape', frame('two', 7, ',"b":1')],
    ['a hole of another kind', frame('two', 'x')],
    ['a negative number', frame('two', -1)],
    ['a delta that is no string', frame(null)],
    ['a cut frame', frame('two').slice(0, -3)],
    ['a frame cut in its delta', frame('two').slice(0, frame('two').indexOf('two') + 2)],
    ['more behind it', `${frame('two')} `],
    ['a raw control character', frame('XY').replace('XY', 'X\tY')],
    ['a broken escape', frame('XY').replace('XY', 'X\\xY')],
    ['nothing', ''],
  ])('does not fit %s', (_what, data) => {
    expect(template.read(data)).toBeUndefined();
  });

  it.each([
    ['a key that stands twice', '{"content":"one","x":{"content":"two"}}', ['content', 'one']],
    ['a key that stands twice with other spacing', '{"content":"one","x":{"content" : 5}}', ['content', 'one']],
    ['a value that is written with escapes', '{"content":"a\\nb"}', ['content', 'a\nb']],
    ['a key that is not there', '{"text":"one"}', ['content', 'one']],
  ])('is not made of %s', (_what, data, hole) => {
    expect(learn(data, hole as [string, string])).toBeUndefined();
  });

  it('agrees with JSON.parse on every text that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), (delta, number) => {
        const data = frame(delta, number);
        expect(template.read(data)).toBe(JSON.parse(data).a[0].delta.content);
      }),
    );
  });

  it('never reads something else than JSON.parse from a frame with any bytes in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (junk) => {
        const data = frame('@').replace('@', () => junk);
        const read = template.read(data);
        if (read !== undefined) expect(read).toBe(JSON.parse(data).a[0].delta.content);
      }),
    );
  });
});

it('keeps nothing of the network read with its frame', () => {
  const before = heldBytes();
  const templates = Array.from({ length: 100 }, () => {
    const read = Buffer.from(`${frame('one')}${'x'.repeat(100_000)}`).toString();
    return learn(read.slice(0, frame('one').length), ['content', 'one']);
  });
  expect(heldBytes() - before).toBeLessThan(1_000_000); // the reads take 10 MB
  expect(templates[99]?.read(frame('two'))).toBe('two');
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
