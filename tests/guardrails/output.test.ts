import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../src/domain/chunks.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { ResponseEvent } from '../../src/domain/events.ts';
import type { OutputItem } from '../../src/domain/items.ts';
import type { StageRecord } from '../../src/domain/router-metadata.ts';
import type { CombinedFilter } from '../../src/guardrails/combine-filters.ts';
import { compileFilters } from '../../src/guardrails/compile-filters.ts';
import type { ContentFilter } from '../../src/domain/content-filter.ts';
import { FilterScan } from '../../src/guardrails/filter-scan.ts';
import { JsonScan } from '../../src/guardrails/json-scan.ts';
import type { FilterSet } from '../../src/guardrails/filter-sets.ts';
import { guardOutput } from '../../src/guardrails/output/guard-output.ts';
import { MAX_EDITS } from '../../src/guardrails/text-edits.ts';
import type { TextScan } from '../../src/guardrails/text-scan.ts';
import { EventBuilder } from '../../src/pipeline/events/build-events.ts';
import { createResponseObject } from '../../src/pipeline/events/response-object.ts';
import { isFull } from '../../src/testing/full.ts';
import { checkEvents } from '../api/check-events.ts';

type OutputFilters = Pick<FilterSet, 'combined' | 'compiled'>;

const filtersOf = (filters: ContentFilter[]): OutputFilters => ({
  combined: filters.map((filter): CombinedFilter => ({ filter, source: { id: 'g', scope: 'api-key' } })),
  compiled: compileFilters(filters),
});
const custom = (pattern: string, action: ContentFilter['action']): ContentFilter => ({
  type: 'custom',
  pattern,
  label: null,
  action,
});
const redacting: ContentFilter[] = [
  { type: 'builtin', slug: 'email', action: 'redact' },
  { type: 'builtin', slug: 'ssn', action: 'redact' },
  { type: 'builtin', slug: 'secrets', action: 'redact' },
  custom('K[0-9]{6}-[a-z]{4}', 'redact'),
  custom('ключ日本', 'redact'),
  custom('[😀-😎]+', 'redact'),
  custom('e\u0301\u0323?', 'redact'),
  custom('quote" and \\\\ slash', 'redact'),
];
const redact = filtersOf(redacting);
const block = filtersOf([...redacting, custom('for\u200d?bid+en💥', 'block')]);

const token = `ghp_${'a1B2'.repeat(9)}`;
/** What must never leave. The others need a boundary of words. */
const secrets = ['K123456-abcd', '😀', 'e\u0301', 'quote" and \\ slash', 'ключ日本'];

function rewrite(scan: TextScan, text: string): string {
  scan.add(text);
  scan.end();
  while (!scan.advance());
  return scan.take();
}

const scanOf = ({ compiled }: OutputFilters, kind: Spoken['kind']): TextScan =>
  kind === 'call' ? new JsonScan(compiled) : new FilterScan(compiled);

interface Served {
  events: ResponseEvent[];
  output: readonly OutputItem[];
  stages: StageRecord[];
  error: unknown;
}

/** Serves batches of chunks through the filters and the events. */
async function serve(filters: OutputFilters, batches: readonly Chunk[][], settings = {}): Promise<Served> {
  const stages: StageRecord[] = [];
  const builder = new EventBuilder({
    base: () => createResponseObject({}, 'resp_1', 0, 'acme/one'),
    model: () => 'acme/one',
    settle: () => ({ usage: null, routerMetadata: undefined, serviceTier: null }),
    now: () => 0,
    limitBytes: 10_000_000,
  });
  const events: ResponseEvent[] = [];
  const run = { caller: {}, request: settings, stages, cancellation: { reason: undefined } };
  const sink = guardOutput(filters).open(run, {
    write(chunks) {
      events.push(...builder.build(chunks));
      return undefined;
    },
  });
  try {
    for (const batch of batches) await sink.write(batch.map((chunk) => structuredClone(chunk)));
  } catch (error) {
    sink.abandon();
    return { events, output: builder.output, stages, error };
  }
  return { events, output: builder.output, stages, error: undefined };
}

/** A text of the output, and the chunks that its pieces become. */
interface Spoken {
  kind: 'text' | 'refusal' | 'reasoning' | 'reasoning_summary' | 'call' | 'custom';
  text: string;
  pieces: string[];
}

const fragment = fc.oneof(
  fc.constantFrom(
    'a',
    ' ',
    '\n',
    '"',
    '\\',
    '\\u',
    '\u0301',
    '\u0323',
    'e',
    '\ud83d',
    '\ude00',
    '👩‍👩‍👧',
    '😀',
    '💥',
    '@',
    '-',
    '6789',
    'jane@',
    'example.com',
    'jane@example.com',
    '123-45-',
    '123-45-6789',
    token.slice(0, 20),
    token.slice(20),
    token,
    'quote" and ',
    '\\ slash',
    'eyJ',
    'K123456-abcd',
    'K123',
    '456-ab',
    '\u200b',
    '＠',
    'ｃｏｍ',
    '\0',
    'cd',
    '日本',
    'ключ',
    'forbid',
    'dden💥',
    'forbidden💥',
  ),
  fc.string({ maxLength: 4 }),
);
const words = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(''));
const harmless = words.map((text) => text.replaceAll('💥', ''));

/** Writes JSON with some characters of its texts escaped. */
function escapeSome(value: unknown, which: readonly boolean[]): string {
  let at = 0;
  const write = (text: string): string => {
    const units = text.split('').map((unit) => {
      if (which[at++ % which.length]) return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
      return JSON.stringify(unit).slice(1, -1);
    });
    return `"${units.join('')}"`;
  };
  if (typeof value === 'string') return write(value);
  if (Array.isArray(value)) return `[${value.map((each) => escapeSome(each, which)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([field, each]) => `${write(field)}: ${escapeSome(each, which)}`);
  return `{${fields.join(',')}}`;
}

const inputs = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.dictionary(text, fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.integer(), fc.boolean()), { maxKeys: 4 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    )
    .map(([value, which]) => escapeSome(value, which));

const cut = (text: string, lengths: readonly number[]): string[] => {
  const pieces: string[] = [];
  for (let at = 0, index = 0; at < text.length; index++) {
    const length = lengths[index % lengths.length]!;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
};

const speech = (text: fc.Arbitrary<string>): fc.Arbitrary<Spoken> =>
  fc
    .tuple(
      fc.constantFrom('text', 'text', 'refusal', 'reasoning', 'reasoning_summary', 'call', 'custom'),
      text,
      inputs(text),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 10 }),
    )
    .map(([kind, plain, json, lengths]) => {
      const said = kind === 'call' ? json : plain;
      return { kind: kind as Spoken['kind'], text: said, pieces: cut(said, lengths) };
    });

const batchSizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 });

function inBatches(chunks: readonly Chunk[], sizes: readonly number[]): Chunk[][] {
  const batches: Chunk[][] = [];
  for (let at = 0, index = 0; at < chunks.length; index++) {
    const size = sizes[index % sizes.length]!;
    batches.push(chunks.slice(at, at + size));
    at += size;
  }
  return batches;
}

/** The chunks of a wire without items of its own. Arguments of calls arrive with what follows them. */
function writeSimple(spoken: readonly Spoken[]): Chunk[] {
  const chunks: Chunk[] = [{ type: 'start' }];
  const late: Chunk[] = [];
  for (const [index, { kind, pieces }] of spoken.entries()) {
    const callId = `call_${index}`;
    if (kind === 'call' || kind === 'custom') {
      chunks.push({ type: 'tool_call', callId, name: 'find', kind: kind === 'call' ? 'function' : 'custom' });
      late.push(...pieces.map((delta): Chunk => ({ type: 'tool_call_arguments', callId, delta })));
      continue;
    }
    for (const delta of pieces) {
      const part = kind === 'reasoning_summary' ? { part: index } : undefined;
      chunks.push({ type: kind, delta, ...part });
      const next = late.shift();
      if (next) chunks.push(next);
    }
  }
  return [...chunks, ...late, { type: 'finish', reason: 'stop' }];
}

/** The chunks of a wire with items of its own: deltas and whole parts and items. @param isBare only whole items */
function writeNative(spoken: readonly Spoken[], isBare: boolean): Chunk[] {
  const chunks: Chunk[] = [{ type: 'start' }];
  for (const [index, { kind, text, pieces }] of spoken.entries()) {
    const key = index;
    const id = `item_${index}`;
    if (kind === 'call' || kind === 'custom') {
      const field = kind === 'call' ? 'arguments' : 'input';
      const type = kind === 'call' ? 'function_call' : 'custom_tool_call';
      const item = { id, type, call_id: `call_${index}`, name: 'find', status: 'completed', [field]: text };
      if (!isBare) {
        chunks.push({ type: 'item', key, item: { ...item, [field]: '', status: 'in_progress' } });
        for (const delta of pieces) chunks.push({ type: 'tool_call_arguments', callId: `call_${index}`, delta, key });
      }
      chunks.push({ type: 'item_done', key, item });
      continue;
    }
    const isSummary = kind === 'reasoning_summary';
    const isReasoning = isSummary || kind === 'reasoning';
    const part =
      kind === 'text'
        ? { type: 'output_text', text, annotations: [], logprobs: [] }
        : kind === 'refusal'
          ? { type: 'refusal', refusal: text }
          : { type: isSummary ? 'summary_text' : 'reasoning_text', text };
    const lists = isReasoning
      ? { summary: isSummary ? [part] : [], content: isSummary ? [] : [part] }
      : { content: [part] };
    const item = {
      id,
      type: isReasoning ? 'reasoning' : 'message',
      ...(!isReasoning && { role: 'assistant' }),
      status: 'completed',
    };
    if (!isBare) {
      chunks.push({
        type: 'item',
        key,
        item: { ...item, status: 'in_progress', content: [], ...(isReasoning && { summary: [] }) },
      });
      if (!isSummary) chunks.push({ type: 'part', key, part: { type: part.type } });
      for (const delta of pieces) chunks.push({ type: kind, delta, key, ...(isSummary && { part: 0 }) });
      if (index % 2 === 0) chunks.push({ type: 'part_done', key, part, index: 0 });
    }
    chunks.push({ type: 'item_done', key, item: { ...item, ...lists } });
  }
  return [...chunks, { type: 'finish', reason: 'stop' }];
}

/**
 * The texts that the client gets. On a wire without items, neighbors of one kind are one text, and texts without any piece do
 * not exist.
 */
function joinTexts(spoken: readonly Spoken[], isSimple: boolean): Pick<Spoken, 'kind' | 'text'>[] {
  const joined: Pick<Spoken, 'kind' | 'text'>[] = [];
  for (const { kind, text, pieces } of spoken) {
    const last = joined.at(-1);
    const isCall = kind === 'call' || kind === 'custom';
    if (isSimple && last?.kind === kind && !isCall && kind !== 'reasoning_summary') last.text += text;
    else if (pieces.length > 0 || !isSimple || isCall) joined.push({ kind, text });
  }
  return joined;
}

/** The texts of items, in order. */
const textsOf = (items: readonly OutputItem[]): string[] =>
  items.flatMap(({ content, summary, arguments: text, input }) => {
    const parts = [...((summary as object[]) ?? []), ...((content as object[]) ?? [])] as {
      text?: string;
      refusal?: string;
    }[];
    return [
      ...parts.map((part) => part.text ?? part.refusal ?? ''),
      ...[text, input].filter((each) => each !== undefined),
    ] as string[];
  });

/** Everything that left, as text that a reader sees. */
function everyText(events: readonly ResponseEvent[]): string[] {
  const texts: string[] = [];
  const list = (value: unknown): void => {
    if (typeof value === 'string') {
      texts.push(value);
      if (/^[[{"]/.test(value)) {
        try {
          list(JSON.parse(value));
        } catch {} // not JSON
      }
    } else if (typeof value === 'object' && value !== null) {
      if (!Array.isArray(value)) texts.push(...Object.keys(value));
      for (const each of Object.values(value)) list(each);
    }
  };
  for (const event of events) list(event);
  return texts;
}

const runs = isFull ? 700 : 150;
const wires: [string, (spoken: Spoken[]) => Chunk[]][] = [
  ['of a wire without items of its own', writeSimple],
  ['of a wire with items of its own', (spoken) => writeNative(spoken, false)],
  ['in whole items', (spoken) => writeNative(spoken, true)],
];

describe.each(wires)('output %s', (_, write) => {
  it('is redacted as the whole texts would be, wherever the pieces and batches end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(speech(harmless), { minLength: 1, maxLength: 5 }),
        batchSizes,
        async (spoken, sizes) => {
          fc.pre(spoken.some(({ text }) => text !== '')); // a response without any output is an error of the provider
          const { events, output, error } = await serve(redact, inBatches(write(spoken), sizes));
          expect(error).toBeUndefined();
          checkEvents(events);
          const joined = joinTexts(spoken, write === writeSimple);
          // Half of a character at the end waits for the other one, which never comes.
          const expected = joined.map(({ kind, text }) =>
            rewrite(scanOf(redact, kind), text).replace(/[\ud800-\udbff]$/u, '\ufffd'),
          );
          const order = (texts: string[]) =>
            write === writeSimple ? texts.filter((text) => text !== '').sort() : texts;
          expect(order(textsOf(output))).toEqual(order(expected));
          const texts = everyText(events);
          for (const secret of secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
          for (const item of output) if (item.type === 'function_call') JSON.parse(String(item['arguments']));
        },
      ),
      { numRuns: runs },
    );
  });

  it('never shows blocked text, and then does not end normally', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(speech(words), { minLength: 1, maxLength: 5 }), batchSizes, async (spoken, sizes) => {
        const { events, error, stages } = await serve(block, inBatches(write(spoken), sizes));
        const texts = everyText(events);
        for (const secret of [...secrets, 'forbidden💥'])
          expect(texts.filter((text) => text.includes(secret))).toEqual([]);
        const isBlocked = joinTexts(spoken, write === writeSimple).some(({ kind, text }) => {
          const scan = scanOf(block, kind);
          rewrite(scan, text);
          return scan.blocked;
        });
        expect(error !== undefined).toBe(isBlocked);
        if (!isBlocked) return;
        expect(error).toBeInstanceOf(GatewayError);
        expect(error).toMatchObject({ status: 403, message: 'Response blocked by content filter: [BLOCKED]' });
        expect(events.some(({ type }) => /completed|incomplete/.test(type))).toBe(false);
        expect(stages).toContainEqual(
          expect.objectContaining({ data: expect.objectContaining({ action: 'blocked' }) }),
        );
      }),
      { numRuns: runs },
    );
  });
});

const say = (...deltas: string[]): Chunk[] => deltas.map((delta) => ({ type: 'text', delta }));
const finish: Chunk = { type: 'finish', reason: 'stop' };
const partOf = (output: readonly OutputItem[]) =>
  (output[0]!['content'] as { text: string; annotations: object[]; logprobs: object[] }[])[0]!;

describe('redactions that touch', () => {
  const four = custom('[0-9]{4}', 'redact');

  it('have a placeholder each, and one between the strings of JSON', () => {
    const { compiled } = filtersOf([four]);
    expect(rewrite(new FilterScan(compiled), 'a 12345678 b')).toBe('a [REDACTED][REDACTED] b');
    const redacted = rewrite(new JsonScan(compiled), '{"n":12345678,"m":[1234,5678],"s":"12345678"}');
    expect(redacted).toBe('{"n":"[REDACTED]","m":["[REDACTED]","[REDACTED]"],"s":"[REDACTED][REDACTED]"}');
  });

  it('keep the positions of what refers to them', async () => {
    const annotation = { type: 'url_citation', url: 'https://example.com/', title: 'A page' };
    const annotations = [
      { ...annotation, start_index: 2, end_index: 6 },
      { ...annotation, start_index: 6, end_index: 10 },
      { ...annotation, start_index: 11, end_index: 12 },
    ];
    const part = { type: 'output_text', text: 'a 12345678 b', annotations, logprobs: [] };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const { output } = await serve(filtersOf([four]), [[{ type: 'item_done', key: 0, item }, finish]]);
    expect(partOf(output)).toMatchObject({
      text: 'a [REDACTED][REDACTED] b',
      annotations: [
        { start_index: 2, end_index: 12 },
        { start_index: 12, end_index: 22 },
        { start_index: 23, end_index: 24 },
      ],
    });
  });
});

describe('what refers to text', () => {
  const annotation = (start: number, end: number) => ({
    type: 'url_citation',
    url: 'https://example.com/',
    title: 'A page',
    start_index: start,
    end_index: end,
  });
  const positions = (annotations: object[]) =>
    (annotations as { start_index: number; end_index: number }[]).map((each) => [each.start_index, each.end_index]);

  it('moves with it, and covers a placeholder if its text was replaced', async () => {
    // Mail jane@example.com or not.   →   Mail [EMAIL] or not.
    const batches = [...say('Mail ja', 'ne@exam', 'ple.com or ', 'not.').map((chunk) => [chunk])];
    const given = [annotation(0, 4), annotation(5, 21), annotation(7, 9), annotation(22, 24), annotation(0, 28)];
    const all = [...batches, ...given.map((each): Chunk[] => [{ type: 'annotation', annotation: each }]), [finish]];
    const { output, events } = await serve(redact, all);
    checkEvents(events);
    expect(partOf(output).text).toBe('Mail [EMAIL] or not.');
    const expected = [
      [0, 4],
      [5, 12],
      [5, 12],
      [13, 15],
      [0, 19],
    ];
    expect(positions(partOf(output).annotations)).toEqual(expected);

    const part = { type: 'output_text', text: 'Mail jane@example.com or not.', annotations: given, logprobs: [] };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const whole = await serve(redact, [[{ type: 'item_done', key: 0, item }, finish]]);
    expect(positions(partOf(whole.output).annotations)).toEqual(expected);
  });

  it('waits for text that is held back', async () => {
    const { events } = await serve(redact, [
      say('See jane@example'),
      [{ type: 'annotation', annotation: annotation(4, 16) }],
      say('.com!'),
      [finish],
    ]);
    const types = events.map(({ type }) => type.replace('response.', ''));
    expect(types.indexOf('output_text.annotation.added')).toBeGreaterThan(types.lastIndexOf('output_text.delta'));
  });

  it('is scanned, too', async () => {
    const { output } = await serve(redact, [
      [
        ...say('Hi.'),
        { type: 'annotation', annotation: { ...annotation(0, 2), title: 'Of jane@example.com' } },
        finish,
      ],
    ]);
    expect(partOf(output).annotations).toMatchObject([{ title: 'Of [EMAIL]', url: 'https://example.com/' }]);
  });

  it('is dropped, and named, if there are too many redactions to know its position', async () => {
    const many = filtersOf([custom('x', 'redact')]);
    const text = `${'x '.repeat(MAX_EDITS + 1)}end`;
    const annotations = [annotation(0, 1), { type: 'file_citation', file_id: 'file_1', filename: 'a.txt', index: 0 }];
    const part = { type: 'output_text', text, annotations, logprobs: [{ token: 'end', logprob: -1 }] };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const whole = await serve(many, [[{ type: 'item_done', key: 0, item }, finish]]);
    expect(partOf(whole.output)).toMatchObject({ annotations: [{ type: 'file_citation' }], logprobs: [] });
    expect(whole.stages).toMatchObject([{ data: { dropped: ['annotations', 'logprobs'] } }]);
    const streamed = await serve(many, [say(text), [{ type: 'annotation', annotation: annotation(0, 1) }], [finish]]);
    expect(partOf(streamed.output).annotations).toEqual([]);
    expect(streamed.stages).toMatchObject([{ data: { dropped: ['annotations'] } }]);
  });

  it('loses the log probabilities of replaced text, and says so', async () => {
    const tokens = ['Mail', ' jane', '@example', '.com', ' now', '.'];
    const logprobs = tokens.map((each) => ({ token: each, logprob: -1, bytes: [], top_logprobs: [] }));
    const chunks = tokens.map((delta, at): Chunk => ({ type: 'text', delta, logprobs: [logprobs[at]!] }));
    const { output, stages, events } = await serve(redact, [...chunks.map((chunk) => [chunk]), [finish]]);
    checkEvents(events);
    const kept = ['Mail', ' now', '.'];
    expect(partOf(output).logprobs).toMatchObject(kept.map((each) => ({ token: each })));
    expect(stages).toMatchObject([{ data: { side: 'output', action: 'redacted', dropped: ['logprobs'] } }]);

    const part = { type: 'output_text', text: tokens.join(''), annotations: [], logprobs };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const whole = await serve(redact, [[{ type: 'item_done', key: 0, item }, finish]]);
    expect(partOf(whole.output)).toMatchObject({
      text: 'Mail [EMAIL] now.',
      logprobs: kept.map((each) => ({ token: each })),
    });
  });
});

describe('reasoning', () => {
  const seal: Chunk = {
    type: 'reasoning_seal',
    format: 'anthropic-claude-v1',
    signature: 'c2ln',
    encryptedContent: 'ZW5j',
  };
  const think = (delta: string): Chunk => ({ type: 'reasoning', delta });

  it('keeps its signature and encrypted value', async () => {
    const { output, stages } = await serve(redact, [[think('Hm.')], [seal, ...say('Hi.'), finish]]);
    expect(output[0]).toMatchObject({ signature: 'c2ln', encrypted_content: 'ZW5j' });
    expect(stages).toEqual([]);
  });

  it('loses its signature if text was replaced, and the stage says so', async () => {
    const { output, stages } = await serve(redact, [
      [think('Of jane@'), think('example.com.')],
      [seal, ...say('Hi.'), finish],
    ]);
    expect(output[0]).toMatchObject({ encrypted_content: 'ZW5j', content: [{ text: 'Of [EMAIL].' }] });
    expect(output[0]).not.toHaveProperty('signature');
    expect(stages).toMatchObject([{ data: { dropped: ['signature'] } }]);
    const content = [{ type: 'reasoning_text', text: 'Of jane@example.com.' }];
    const item = { id: 'rs_1', type: 'reasoning', summary: [], content, signature: 'c2ln', encrypted_content: 'ZW5j' };
    const whole = await serve(redact, [[{ type: 'item_done', key: 0, item }, finish]]);
    expect(whole.output[0]).toMatchObject({ encrypted_content: 'ZW5j', content: [{ text: 'Of [EMAIL].' }] });
    expect(whole.output[0]).not.toHaveProperty('signature');
  });
});

describe('other output', () => {
  it.each([
    ['a code call', { type: 'code_interpreter_call', code: 'mail("jane@example.com")' }, 'mail("[EMAIL]")', 'code'],
    ['a tool output', { type: 'mcp_call', output: 'of jane@example.com' }, 'of [EMAIL]', 'output'],
    ['a JSON output', { type: 'mcp_call', output: '{"of":"j\\u0061ne@example.com"}' }, '{"of":"[EMAIL]"}', 'output'],
    ['escaped input', { type: 'custom_tool_call', input: '"j\\u0061ne@example.com"' }, '"[EMAIL]"', 'input'],
    ['colors', { type: 'mcp_call', output: 'j\u001b[31mane@example.com' }, '[EMAIL]', 'output'],
    [
      'JSON arguments',
      { type: 'mcp_call', arguments: '{"to":"jane\\u0040example.com"}' },
      '{"to":"[EMAIL]"}',
      'arguments',
    ],
    ['an image', { type: 'image_generation_call', result: 'jane@example.com' }, 'jane@example.com', 'result'],
    [
      'encrypted content',
      { type: 'reasoning', summary: [], encrypted_content: 'jane@example.com' },
      'jane@example.com',
      'encrypted_content',
    ],
  ])('is scanned in %s, but ids and data are not', async (_, item, expected, field) => {
    const whole: Chunk = { type: 'item_done', key: 0, item: { id: 'jane@example.com', ...item } as OutputItem };
    const { output } = await serve(redact, [[whole, finish]]);
    expect(output).toMatchObject([{ id: 'jane@example.com', [field]: expected }]);
  });

  it('is scanned in relayed deltas', async () => {
    const item = { id: 'ci_1', type: 'code_interpreter_call', code: '', status: 'in_progress' };
    const type = 'response.code_interpreter_call_code.delta';
    const relay = (delta: string): Chunk => ({
      type: 'relay',
      key: 0,
      event: { type, item_id: 'ci_1', output_index: 0, delta },
    });
    const done = {
      type: 'response.code_interpreter_call_code.done',
      code: 'jane@example.com',
      item_id: 'ci_1',
      output_index: 0,
    };
    const { events } = await serve(redact, [
      [{ type: 'item', key: 0, item }],
      [relay('jane@exa')],
      [relay('mple.com')],
      [{ type: 'relay', key: 0, event: done }],
      [{ type: 'item_done', key: 0, item: { ...item, code: 'jane@example.com' } }, finish],
    ]);
    expect(events.filter((event) => event.type === type)).toMatchObject([{ delta: '[EMAIL]' }]);
    expect(JSON.stringify(events)).not.toContain('example');
    expect(events.find((event) => event.type === done.type)).toMatchObject({ code: '[EMAIL]' });
  });

  it('is scanned in unknown fields of the response', async () => {
    const { events } = await serve(redact, [
      [...say('Hi.'), { ...finish, fields: { note: 'of jane@example.com' } } as Chunk],
    ]);
    expect(events.at(-1)).toMatchObject({ response: { note: 'of [EMAIL]' } });
  });

  it('stays valid JSON if a number is replaced, in arguments and in messages that were requested as JSON', async () => {
    const text = '{"a": 1, "phone": 4155550123, "b": [4155550123]}';
    const phones = filtersOf([{ type: 'builtin', slug: 'phone', action: 'redact' }]);
    const expected = { a: 1, phone: '[PHONE]', b: ['[PHONE]'] };
    const call: Chunk[] = [
      { type: 'tool_call', callId: 'c', name: 'call' },
      { type: 'tool_call_arguments', callId: 'c', delta: text },
    ];
    const called = await serve(phones, [[...call, finish]]);
    expect(JSON.parse(String(called.output[0]!['arguments']))).toEqual(expected);
    const json = { text: { format: { type: 'json_object' } } };
    const said = await serve(phones, [[...say(text), finish]], json);
    expect(JSON.parse(partOf(said.output).text)).toEqual(expected);
  });
});

describe('filters', () => {
  it('that only flag hold nothing back and change nothing', async () => {
    const flags = filtersOf([{ type: 'builtin', slug: 'email', action: 'flag' }]);
    const { events, stages } = await serve(flags, [say('jane@ex'), say('ample.com'), [finish]]);
    const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
    expect(deltas).toEqual(['jane@ex', 'ample.com']);
    expect(stages).toMatchObject([
      { name: 'content-filter', data: { action: 'flagged', matched_entity_types: ['EMAIL'] } },
    ]);
  });

  it('write no stage if they find nothing', async () => {
    const { stages } = await serve(redact, [say('Hello.'), [finish]]);
    expect(stages).toEqual([]);
  });

  it('report a redaction once the client has seen it, even if the attempt then fails', async () => {
    const stages: StageRecord[] = [];
    const run = { caller: {}, request: {}, stages, cancellation: { reason: undefined } };
    const open = () => guardOutput(redact).open(run, { write: () => undefined });
    const unseen = open();
    await unseen.write(say('jane@example.com'));
    unseen.abandon();
    expect(stages).toEqual([]);
    const seen = open();
    await seen.write(say('jane@example.com and so on'));
    seen.abandon();
    expect(stages).toMatchObject([{ data: { action: 'redacted' } }]);
  });

  it('leave calls alone that the gateway runs itself', async () => {
    const passed: Chunk[] = [];
    const toolLoop = { owns: (name: string) => name === 'own' };
    const run = { caller: {}, request: {}, stages: [], cancellation: { reason: undefined }, toolLoop };
    const sink = guardOutput(redact).open(run, {
      write(chunks) {
        passed.push(...chunks);
        return undefined;
      },
    });
    await sink.write([
      { type: 'tool_call', callId: 'c', name: 'own' },
      { type: 'tool_call_arguments', callId: 'c', delta: '{"to":"jane@example.com"}' },
      { type: 'item_done', key: 0, item: { type: 'function_call', name: 'own', arguments: 'jane@example.com' } },
      finish,
    ]);
    expect(JSON.stringify(passed).split('jane@example.com')).toHaveLength(3);
  });

  it('scan a call of the client that has the key of a call that the gateway runs', async () => {
    const passed: Chunk[] = [];
    const toolLoop = { owns: (name: string) => name === 'own' };
    const run = { caller: {}, request: {}, stages: [], cancellation: { reason: undefined }, toolLoop };
    const sink = guardOutput(redact).open(run, {
      write(chunks) {
        passed.push(...chunks);
        return undefined;
      },
    });
    const item = (name: string) => ({
      type: 'function_call',
      call_id: 'c',
      name,
      arguments: '{"to":"jane@example.com"}',
    });
    await sink.write([
      { type: 'item', key: 0, item: { ...item('own'), arguments: '' } },
      { type: 'item_done', key: 0, item: item('other') },
      { type: 'tool_call', callId: 'd', name: 'own' },
      { type: 'tool_call', callId: 'd', name: 'other' },
      { type: 'tool_call_arguments', callId: 'd', delta: '"jane@example.com' },
      { type: 'tool_call', callId: 'd', name: 'other' },
      { type: 'tool_call_arguments', callId: 'd', delta: '"joe@example.com"' },
      finish,
    ]);
    expect(JSON.stringify(passed)).not.toContain('example.com');
    const deltas = passed.flatMap((chunk) => (chunk.type === 'tool_call_arguments' ? [chunk.delta] : []));
    expect(deltas.join('')).toBe('"[EMAIL]"[EMAIL]"');
  });

  it('let other work run in a long text, and stop when the run is cancelled', async () => {
    const text = 'ab: 4111-1.1 jane@example.com '.repeat(60_000);
    let turns = 0;
    const count = (): void => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const { output } = await serve(redact, [say(text), [finish]]).finally(() => clearImmediate(timer));
    expect(partOf(output).text).not.toContain('jane');
    expect(turns).toBeGreaterThan(10);

    const reason = new GatewayError('client_closed', 'The client disconnected.');
    const cancellation: { reason: GatewayError | undefined } = { reason: undefined };
    const sink = guardOutput(redact).open(
      { caller: {}, request: {}, stages: [], cancellation },
      { write: () => undefined },
    );
    const writing = sink.write(say(text));
    cancellation.reason = reason;
    await expect(writing).rejects.toBe(reason);
  });
});
