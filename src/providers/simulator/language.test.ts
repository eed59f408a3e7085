import { expect, it } from 'vitest';
import { joinTurns, MAX_DIRECTIVES, readScript } from './language.ts';

const turn = (source: string) => readScript(source).turns[0]!;

it('takes directives out of the text', () => {
  expect(readScript(' Hello [[slow 5]] big\n[[wait 7]]\n[[say Hi there]] world ')).toEqual({
    text: 'Hello big world',
    turns: [{ orders: [{ kind: 'say', text: 'Hi there' }], slowMs: 5, waitMs: 7 }],
  });
});

it('keeps orders in the order in which they were written', () => {
  expect(turn('[[reason Hm]] [[refuse]] [[call a]] [[call b {"c":[[1]]}]] [[call d free ] text]]').orders).toEqual([
    { kind: 'reason', text: 'Hm' },
    { kind: 'refuse', text: 'I cannot help with that.' },
    { kind: 'call', name: 'a', rest: '' },
    { kind: 'call', name: 'b', rest: '{"c":[[1]]}' },
    { kind: 'call', name: 'd', rest: 'free ] text' },
  ]);
  expect(turn('[[cite https://example.com/a A title]]').orders).toEqual([
    { kind: 'cite', url: 'https://example.com/a', title: 'A title' },
  ]);
});

it.each([
  ['[[fail 503]]', { failure: { status: 503, message: 'Failed as told.' } }],
  ['[[fail 429 Slow down]]', { failure: { status: 429, message: 'Slow down', retryAfterSeconds: 1 } }],
  ['[[fail 503 7s Later]]', { failure: { status: 503, message: 'Later', retryAfterSeconds: 7 } }],
  ['[[cut]]', { break: { after: 0, how: 'cut' } }],
  ['[[stall 3]]', { break: { after: 3, how: 'stall' } }],
  ['[[break 3 529 Too busy]]', { break: { after: 3, how: 'break', status: 529, message: 'Too busy' } }],
  ['[[words 9999999]]', { words: 100_000 }],
  ['[[logprobs]]', { logprobs: 0 }],
  ['[[logprobs 3]]', { logprobs: 3 }],
  ['[[finish content_filter]]', { finish: 'content_filter' }],
  ['[[usage none]]', { usage: null }],
  ['[[usage {"input":3}]]', { usage: { input: 3 } }],
])('reads %s', (source, expected) => {
  expect(turn(source)).toMatchObject(expected);
});

it.each([
  '[[shout hello]]',
  '[[constructor]]',
  '[[slow]]',
  '[[slow down]]',
  '[[fail]]',
  '[[fail 200]]',
  '[[cite nowhere]]',
  '[[call ]]',
  '[[say]]',
  '[[finish soon]]',
  '[[usage {"input":-1}]]',
  '[[usage [1]]]',
  '[[usage {]]',
  '[[break 3]]',
  '[[say never closed',
  '[[ say no]]',
  '[[Say no]]',
])('leaves %s in the text', (source) => {
  expect(readScript(source)).toEqual({ text: source, turns: [{ orders: [] }] });
});

it('begins another turn with [[then]]', () => {
  const { turns } = readScript('[[call a]] [[slow 1]] [[then]] [[say done]]');
  expect(turns).toEqual([
    { orders: [{ kind: 'call', name: 'a', rest: '' }], slowMs: 1 },
    { orders: [{ kind: 'say', text: 'done' }] },
  ]);
});

it('joins turns; the later one wins', () => {
  expect(joinTurns(turn('[[say a]] [[slow 1]] [[wait 1]]'), turn('[[say b]] [[slow 2]]'))).toEqual({
    orders: [
      { kind: 'say', text: 'a' },
      { kind: 'say', text: 'b' },
    ],
    slowMs: 2,
    waitMs: 1,
  });
  expect(joinTurns(undefined, undefined)).toEqual({ orders: [] });
});

it('obeys a bounded number of directives, in time that grows with the text alone', () => {
  const { text, turns } = readScript('[[call f {]]'.repeat(100_000)); // each could be JSON that ends at the very end
  expect(turns[0]!.orders).toHaveLength(MAX_DIRECTIVES);
  expect(text).toHaveLength((100_000 - MAX_DIRECTIVES) * 12);
});
