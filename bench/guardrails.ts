/**
 * What content filters cost: all built-in filters and 50 custom patterns, on texts of 2 KB and on streamed events. Then how long
 * they keep the event loop busy at a time with large texts and hostile patterns.
 *
 *     node bench/guardrails.ts              best of the rounds
 *     node bench/guardrails.ts --rounds 30
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { BuiltinSlug, ContentFilter } from '../src/domain/content-filter.ts';
import { builtinTexts } from '../src/guardrails/builtin-filters.ts';
import type { CombinedFilter } from '../src/guardrails/combine-filters.ts';
import { type CompiledFilters, compileFilters, compileInSlices } from '../src/guardrails/compile-filters.ts';
import { checkCustomFilters } from '../src/guardrails/custom-pattern.ts';
import { FilterScan } from '../src/guardrails/filter-scan.ts';
import type { FilterSet } from '../src/guardrails/filter-sets.ts';
import { guardOutput } from '../src/guardrails/output/guard-output.ts';
import { scanText } from '../src/guardrails/scan-text.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });
const rounds = Number(options.rounds);

const builtins = (Object.keys(builtinTexts) as BuiltinSlug[]).map(
  (slug): ContentFilter => ({ type: 'builtin', slug, action: 'redact' }),
);
/** Shapes that operators write: ids, names of projects and hosts, lists of words. */
const shapes = [
  (n: number) => String.raw`\bEMP-${n}\d{5}\b`,
  (n: number) => `project-(?:apollo|zephyr|orion)-${n}`,
  (n: number) => String.raw`[A-Z]{2}${n}-\d{4}-[a-f0-9]{8}`,
  (n: number) => String.raw`\bhost${n}\.(?:int|corp)\.example\b`,
  (n: number) => `(?:confidential|internal only|do not share) ${n}`,
];
const customs = Array.from({ length: 50 }, (_, index): ContentFilter => {
  const pattern = shapes[index % shapes.length]!(10 + index);
  return { type: 'custom', pattern, label: null, action: 'redact' };
});

const combine = (filter: ContentFilter): CombinedFilter => ({ filter, source: { id: 'g', scope: 'api-key' } });

const sentences = {
  English:
    'The quarterly report shows that revenue grew by 12% while costs stayed flat; please ask the system owner to prompt for details. ',
  code: 'const total = items.reduce((sum, { price, count }) => sum + price * count, 0); // 3 items, see README.md\n',
  JSON: '{"id":"call_8f3a","name":"get_weather","arguments":{"city":"Lyon","days":3,"unit":"celsius"},"ok":true},\n',
  Russian: 'Отчёт показывает, что выручка выросла на двенадцать процентов, а расходы не изменились за этот квартал. ',
  Chinese: '报告显示收入增长了百分之十二，而成本保持不变，请联系负责人了解详细情况。',
};

function measure(work: () => void, count: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint();
    for (let index = 0; index < count; index++) work();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1000 / count);
  }
  return best;
}

function scanWhole(compiled: CompiledFilters, text: string): void {
  const scan = new FilterScan(compiled);
  scan.add(text);
  scan.end();
  while (!scan.advance());
  scan.take();
}

function print(filters: string, what: string, microseconds: number, unit: string): void {
  console.log(`| ${filters} | ${what} | ${microseconds.toFixed(2)} µs ${unit} |`);
}

console.log('| Filters | Text | Cost |\n|---|---|---|');
const sets: [string, ContentFilter[]][] = [
  ['all built-in + 50 custom', [...builtins, ...customs]],
  ['all built-in', builtins],
  ['prompt injection', builtins.filter((each) => each.type === 'builtin' && each.slug === 'regex-prompt-injection')],
];
for (const [name, filters] of sets) {
  const start = performance.now();
  const compiled = compileFilters(filters);
  print(name, 'compile', 1000 * (performance.now() - start), 'once');
  for (const [kind, sentence] of Object.entries(sentences)) {
    const text = sentence.repeat(Math.ceil(2048 / Buffer.byteLength(sentence)));
    const bytes = Buffer.byteLength(text);
    print(name, `${kind}, 2 KB`, (measure(() => scanWhole(compiled, text), 200) * 2048) / bytes, 'per text');
  }
  const deltas = sentences.English.repeat(20).match(/\s?\S+/g)!;
  for (const perBatch of [1, 20]) {
    const cost = await measureEvents({ combined: filters.map(combine), compiled }, deltas, perBatch);
    print(name, `stream of ${deltas.length} deltas, ${perBatch} per network read`, cost / deltas.length, 'per delta');
  }
}

const all = [...builtins, ...customs];
const word = (index: number): string => ((index * 2_654_435_761) >>> 0).toString(36);
const custom = (pattern: string): ContentFilter => ({ type: 'custom', pattern, label: null, action: 'redact' });
const words = Array.from({ length: 14_000 }, (_, index) => word(index))
  .join('|')
  .slice(0, 99_990);
const random = (alphabet: string, length: number): string => {
  let state = 1;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return alphabet[(state >>> 12) % alphabet.length];
  }).join('');
};
const large: [string, ContentFilter[], string, string][] = [
  ['all built-in + 50 custom', all, 'English, 10 MB', sentences.English.repeat(80_000)],
  ['the same', all, 'base64, 10 MB', Buffer.alloc(7_500_000, 'headgate').toString('base64')],
  ['the same', all, 'a@a@…, 1 MB', 'a@'.repeat(500_000)],
  ['the same', all, 'digits and dashes, 1 MB', '4111-'.repeat(200_000)],
  ['the same', all, 'all different, 1 MB', Array.from({ length: 100_000 }, (_, index) => word(index)).join(' ')],
  ['list of 14,000 words', [custom(words)], 'random, 100 KB', random('abcdefghijklmnopqrstuvwxyz0123456789 ', 100_000)],
  [
    '100 × `[ab]*a[ab]{20}c`',
    Array.from({ length: 100 }, (_, index) => custom(`[ab]*a[ab]{20}c${index}`)),
    'random a and b, 100 KB',
    random('ab', 100_000),
  ],
  [
    '`[a-y]{1,4000}0`',
    [custom('[a-y]{1,4000}0')],
    'random a to y, 100 KB',
    random('abcdefghijklmnopqrstuvwxy', 100_000),
  ],
];
console.log('\n| Filters | Text | Whole | Longest turn: check | compile | scan |\n|---|---|---|---|---|---|');
for (const [name, filters, what, text] of large) {
  const patterns = filters.flatMap((filter) => (filter.type === 'custom' ? [filter] : []));
  const check = await findLongestTurn(() => checkCustomFilters(patterns, 'content_filters'));
  let compiled: CompiledFilters | undefined;
  const compile = await findLongestTurn(async () => {
    compiled = await compileInSlices(filters);
  });
  const start = performance.now();
  const scan = await findLongestTurn(async () => {
    await scanText(compiled!, text, () => nextTurn());
  });
  const whole = performance.now() - start;
  const turns = [check, compile, scan].map((turn) => `${turn.toFixed(1)} ms`).join(' | ');
  console.log(`| ${name} | ${what} | ${whole.toFixed(0)} ms | ${turns} |`);
}

/** Returns the longest CPU time of this thread between two turns of the event loop, in milliseconds. */
async function findLongestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = 0;
  const now = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  const look = (): void => {
    const time = now();
    longest = Math.max(longest, time - before);
    before = time;
    timer = setImmediate(look);
  };
  await nextTurn();
  before = now();
  let timer = setImmediate(look);
  await work();
  await nextTurn();
  clearImmediate(timer);
  return longest;
}

async function measureEvents(
  filters: Pick<FilterSet, 'combined' | 'compiled'>,
  deltas: readonly string[],
  perBatch: number,
): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  const guard = guardOutput(filters);
  const run = { caller: {}, request: {}, stages: [], cancellation: { reason: undefined } };
  for (let round = 0; round < rounds * 10; round++) {
    const start = process.hrtime.bigint();
    const sink = guard.open(run, { write: () => undefined });
    for (let at = 0; at < deltas.length; at += perBatch) {
      const waiting = sink.write(deltas.slice(at, at + perBatch).map((delta) => ({ type: 'text', delta })));
      if (waiting) await waiting;
    }
    await sink.write([{ type: 'finish', reason: 'stop' }]);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1000);
  }
  return best;
}
