import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InputItem } from '../../domain/items.ts';
import { compressInput, measureInput, type Room } from './compress.ts';
import { WORK_PER_SLICE, type SlicedWork, WorkSlices } from '../../domain/work-slices.ts';
import { measureItem } from './measure.ts';

const say = (role: 'user' | 'assistant' | 'system' | 'developer', content: string): InputItem => ({
  type: 'message',
  role,
  content,
});
const call = (id: string, text = '{}'): InputItem => ({
  type: 'function_call',
  call_id: id,
  name: 'f',
  arguments: text,
});
const output = (id: string, text = 'done'): InputItem => ({ type: 'function_call_output', call_id: id, output: text });
const think = (text: string): InputItem => ({ type: 'reasoning', summary: [{ type: 'summary_text', text }] });
/** A text of about this many tokens. */
const words = (tokens: number): string => 'word '.repeat(tokens);
const total = (items: readonly InputItem[]): number => items.reduce((sum, item) => sum + measure(item), 0);
const measure = (item: InputItem): number => finish(measureItem(item));
function finish<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

const slices = new WorkSlices(() => Promise.resolve(), {});
const run = async (input: InputItem[], tokens: number, room: Partial<Room> = {}, by = slices) => {
  const measured = await by.run(measureInput(input));
  return by.run(compressInput(input, measured, { tokens, scale: 1, cutsPrompt: true, ...room }));
};

async function shorten(input: InputItem[], tokens: number, room?: Partial<Room>): Promise<InputItem[]> {
  const outcome = await run(input, tokens, room);
  if (outcome.type !== 'compressed') throw new Error(outcome.type);
  return outcome.input;
}

describe('an input that is too long', () => {
  it('stays unchanged if it fits', async () => {
    expect(await run([say('user', 'Hello.')], 20)).toEqual({ type: 'fits' });
  });

  it('loses the messages in its middle, and keeps as much at the start as at the end', async () => {
    const history = Array.from({ length: 20 }, (_, at) => say(at % 2 ? 'assistant' : 'user', `${at} ${words(20)}`));
    const input = [say('system', 'Be brief.'), ...history, say('user', 'And now?')];
    const kept = await shorten(input, total(input) / 2);
    expect(kept[0]).toBe(input[0]);
    expect(kept.at(-1)).toBe(input.at(-1));
    const places = kept.map((item) => input.indexOf(item)).filter((at) => at > 0 && at <= 20);
    const gap = places.findIndex((at, index) => index > 0 && at !== places[index - 1]! + 1);
    expect(Math.abs(gap - (places.length - gap))).toBeLessThanOrEqual(1);
    expect(total(kept)).toBeLessThanOrEqual(total(input) / 2);
  });

  it('keeps instructions wherever they are, and the last message of the user', async () => {
    const rules = [say('system', words(30)), say('developer', words(30))];
    const input = [say('user', words(200)), rules[0]!, say('assistant', words(200)), rules[1]!, say('user', words(50))];
    const kept = await shorten(input, 150);
    for (const item of [...rules, input.at(-1)!]) expect(kept).toContain(item);
  });

  it('loses a call and its output together', async () => {
    const input = [
      say('user', 'Look.'),
      ...['a', 'b', 'c', 'd', 'e', 'f'].flatMap((id) => [call(id, `{"q":"${words(10)}"}`), output(id, words(10))]),
      say('user', 'So?'),
    ];
    const kept = await shorten(input, total(input) * 0.6);
    const ids = (type: string) =>
      kept.flatMap((item) => (item.type === type && 'call_id' in item ? [item.call_id] : []));
    expect(ids('function_call').length).toBeGreaterThan(0);
    expect(ids('function_call').length).toBeLessThan(6);
    expect(ids('function_call')).toEqual(ids('function_call_output'));
  });

  it('loses reasoning with everything that followed it', async () => {
    const turn = (id: string) => [think(words(10)), call(id, `{"q":"${words(10)}"}`), output(id, words(10))];
    const turns = ['a', 'b', 'c', 'd', 'e'].map(turn);
    const input = [say('user', 'Look.'), ...turns.flat(), say('user', 'So?')];
    const kept = await shorten(input, total(input) * 0.7);
    for (const items of turns) expect(new Set(items.map((item) => kept.includes(item))).size).toBe(1);
    expect(kept).not.toContain(turns[2]![0]);
    expect(kept).toContain(turns[0]![0]);
    expect(kept).toContain(turns[4]![0]);
  });

  it('has a long text cut in its middle instead of removed', async () => {
    const long = `START ${words(2000)} END`;
    const input = [say('user', long), say('assistant', 'Understood.'), say('user', 'Summarize it.')];
    const kept = await shorten(input, 500);
    expect(kept).toHaveLength(3);
    const { content } = kept[0] as { content: string };
    expect(content).toMatch(/^START .*\n\[… \d+ characters were removed here …\]\n.* END$/s);
    expect(total(kept)).toBeLessThanOrEqual(500);
    expect(total(kept)).toBeGreaterThan(450);
  });

  it('has the output of the latest call cut, because the model waits for it', async () => {
    const input = [say('user', 'Read it.'), call('a'), output('a', words(5000))];
    const kept = await shorten(input, 300);
    expect(kept.slice(0, 2)).toEqual(input.slice(0, 2));
    expect((kept[2] as { output: string }).output).toContain('characters were removed here');
  });

  it('is cut as a prompt only if that is allowed', async () => {
    const input = [say('user', words(1000))];
    expect((await shorten(input, 200))[0]).toMatchObject({ content: expect.stringContaining('removed here') });
    expect(await run(input, 200, { cutsPrompt: false })).toMatchObject({ type: 'too_long' });
  });

  it('is too long if what must stay does not fit', async () => {
    const input = [say('system', words(300)), say('assistant', words(10)), say('user', words(300))];
    const outcome = await run(input, 400);
    expect(outcome).toEqual({ type: 'too_long', tokens: Math.ceil(total([input[0]!, input[2]!])) });
  });

  it('still begins with the user', async () => {
    const input = [say('user', words(100)), say('assistant', 'Yes.'), say('user', 'And?')];
    expect(await shorten(input, 40)).toEqual([input[2]]);
  });

  it('has no two settings in a row', async () => {
    const setting = (effort: 'low' | 'high'): InputItem => ({ type: 'configuration_update', reasoning: { effort } });
    const input = [say('user', 'a'), setting('low'), say('assistant', words(100)), setting('high'), say('user', 'b')];
    expect(await shorten(input, 60)).toEqual([input[0], input[3], input[4]]);
  });

  it('keeps the output of a call that only a reference names', async () => {
    const reference: InputItem = { type: 'item_reference', id: 'fc_1' };
    const input = [
      say('user', words(50)),
      reference,
      output('x', words(20)),
      say('assistant', words(90)),
      say('user', 'b'),
    ];
    const kept = await shorten(input, 130);
    expect(kept).toContain(reference);
    expect(kept).toContain(input[2]);
  });

  it('counts images, files and audio', async () => {
    const image: InputItem = {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }],
    };
    const input = [image, say('assistant', 'Nice.'), image, say('user', 'Compare.')];
    expect(await run(input, 1500)).toMatchObject({ type: 'compressed' });
    expect(await run(input, 2500)).toEqual({ type: 'fits' });
  });

  it('counts a text that looks like data as text, and data in other fields as an image', async () => {
    const data = `data:image/png;base64,${words(5000)}`;
    expect(measure(say('user', data))).toBeGreaterThan(2000);
    const shot: InputItem = { type: 'computer_call', call_id: 'c', screenshot: data };
    expect(measure(shot)).toBeLessThan(1100);
  });
});

describe('a cap on the number of items', () => {
  const input = Array.from({ length: 101 }, (_, at) => say(at % 2 ? 'assistant' : 'user', String(at)));

  it('keeps its first and its last half', async () => {
    const kept = await shorten(input, 100_000, { items: 20 });
    const numbers = kept.map((item) => Number((item as { content: string }).content));
    expect(numbers.length).toBeLessThanOrEqual(20);
    expect(numbers.length).toBeGreaterThanOrEqual(18);
    expect(numbers.slice(0, 9)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(numbers.slice(-9)).toEqual([92, 93, 94, 95, 96, 97, 98, 99, 100]);
  });

  it('counts calls with their outputs', async () => {
    const calls = ['a', 'b', 'c', 'd', 'e'].flatMap((id) => [call(id), output(id)]);
    const kept = await shorten([...calls, say('user', 'So?')], 100_000, { items: 6 });
    expect(kept).toEqual([...calls.slice(0, 2), ...calls.slice(-2), expect.anything()]);
  });
});

const text = fc.oneof(
  fc.nat(400).map(words),
  fc.string({ maxLength: 300, unit: 'binary' }),
  fc.constantFrom('語'.repeat(500), '👩‍👩‍👧 '.repeat(200), 'x'.repeat(5000)),
);
const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const item: fc.Arbitrary<InputItem> = fc.oneof(
  fc.tuple(fc.constantFrom('user' as const, 'assistant' as const, 'system' as const), text).map((args) => say(...args)),
  fc.tuple(id, text).map((args) => call(...args)),
  fc.tuple(id, text).map((args) => output(...args)),
  text.map(think),
  fc.constant('x').map((name): InputItem => ({ type: 'item_reference', id: name })),
  text.map(
    (content): InputItem => ({
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: content },
        { type: 'input_image', image_url: 'https://a.example/b.png' },
      ],
    }),
  ),
);

it('fits afterwards or is an error, keeps what is protected, and keeps calls with their outputs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 10, max: 5000 }),
      fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
      fc.constantFrom(0.7, 1, 1.5),
      async (input, tokens, items, scale) => {
        const before = structuredClone(input);
        const outcome = await run(input, tokens, { items, scale, cutsPrompt: false });
        expect(input).toEqual(before);
        if (outcome.type === 'fits') {
          expect(total(input) * scale).toBeLessThanOrEqual(tokens + 0.01);
          return;
        }
        if (outcome.type === 'too_long') return;
        const kept = outcome.input;
        expect(total(kept) * scale).toBeLessThanOrEqual(tokens + 0.01);
        expect(outcome.tokens).toBeCloseTo(total(kept) * scale, 3);
        if (items !== undefined) expect(kept.length).toBeLessThanOrEqual(items);
        expect(kept.length).toBeGreaterThan(0);
        for (const each of input) {
          if (each.type === 'message' && each['role'] === 'system') expect(kept).toContain(each);
        }
        const last = input.findLast((each) => each.type === 'message' && each['role'] === 'user');
        if (last) expect(kept).toContain(last);
        for (const link of ['a', 'b', 'c', 'd', 'e']) {
          const count = (all: InputItem[]) => all.filter((each) => 'call_id' in each && each.call_id === link).length;
          if (!input.some(({ type }) => type === 'item_reference')) expect([0, count(input)]).toContain(count(kept));
        }
        const order = kept.flatMap((each) => (input.includes(each) ? [input.indexOf(each)] : []));
        expect(order).toEqual(order.toSorted((a, b) => a - b));
      },
    ),
    { numRuns: 300 },
  );
});

describe('a long input', () => {
  /** Reads of the input since the last pause: of its items, and of the fields of its items and parts. */
  let reads = 0;
  /** The most reads without a pause. */
  let most = 0;
  let pauses = 0;
  const cancellation: { reason?: Error } = {};
  const nextTurn = async () => {
    most = Math.max(most, reads);
    reads = 0;
    pauses++;
  };
  beforeEach(() => {
    [reads, most, pauses] = [0, 0, 0];
    delete cancellation.reason;
  });
  const handler: ProxyHandler<object> = {
    get(target, name, receiver) {
      reads++;
      return Reflect.get(target, name, receiver);
    },
    ownKeys(target) {
      reads++;
      return Reflect.ownKeys(target);
    },
  };
  const observe = <Value extends object>(value: Value): Value => new Proxy(value, handler) as Value;
  const observeAll = (items: InputItem[]): InputItem[] => observe(items.map(observe));
  const inSlices = async (input: InputItem[], tokens: number, room?: Partial<Room>) => {
    const outcome = await run(input, tokens, room, new WorkSlices(nextTurn, cancellation));
    await nextTurn();
    return outcome;
  };
  /** A unit of work reads a few fields. */
  const limit = 8 * WORK_PER_SLICE;
  const count = 8000;
  const part = (at: number) => observe({ type: 'input_text' as const, text: `${at} ${words(20)}` });

  const longOutput: InputItem = {
    type: 'function_call_output',
    call_id: 'a',
    output: Array.from({ length: count }, (_, at) => part(at)),
  };

  it.each<[string, InputItem[], Partial<Room>]>([
    ['calls', Array.from({ length: count }, (_, at) => (at % 2 ? output(`c${at - 1}`) : call(`c${at}`))), {}],
    ['messages', Array.from({ length: count }, (_, at) => say(at % 2 ? 'assistant' : 'user', 'word')), {}],
    ['messages, of which few may stay', Array.from({ length: count }, () => say('user', 'word')), { items: 100 }],
    ['instructions', Array.from({ length: count }, () => say('system', 'word')), {}],
    ['messages of one turn', [think('a'), ...Array.from({ length: count }, () => say('assistant', words(9)))], {}],
    [
      'texts in one message',
      [
        { type: 'message', role: 'user', content: Array.from({ length: count }, (_, at) => part(at)) },
        say('user', 'b'),
      ],
      {},
    ],
    ['texts in the output of one tool', [say('user', 'a'), call('a'), longOutput], {}],
  ])('of many %s is shortened in slices of bounded work', async (_, input, room) => {
    const outcome = await inSlices(observeAll(input), 1000 + count * 3, room);
    expect(outcome.type).toMatch(/compressed|too_long/);
    expect(pauses).toBeGreaterThan(5);
    expect(most).toBeLessThan(limit);
  });

  it('is read no further once the run is cancelled', async () => {
    const input = observeAll(Array.from({ length: count }, () => say('user', 'word')));
    cancellation.reason = new Error('The client is gone.');
    await expect(inSlices(input, 1000)).rejects.toBe(cancellation.reason);
    expect(pauses).toBe(1);
    expect(most).toBeLessThan(limit);
    expect(reads).toBe(0);
  });
});
