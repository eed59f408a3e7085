/**
 * What content filters cost: all built-in filters and 50 custom patterns, on texts of 2 KB and on streamed deltas.
 *
 *     node bench/guardrails.ts              best of the rounds
 *     node bench/guardrails.ts --rounds 30
 */
import { parseArgs } from 'node:util';
import type { BuiltinSlug, ContentFilter } from '../src/domain/content-filter.ts';
import { builtinTexts } from '../src/guardrails/builtin-filters.ts';
import { type CompiledFilters, compileFilters } from '../src/guardrails/compile-filters.ts';
import { FilterScan } from '../src/guardrails/filter-scan.ts';

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
  const cost = measure(() => {
    const scan = new FilterScan(compiled);
    for (const delta of deltas) scan.push(delta);
    scan.finish();
  }, 10);
  print(name, `English, ${deltas.length} deltas`, cost / deltas.length, 'per delta');
}

// Large and hostile texts: the longest slice and the whole time.
const compiled = compileFilters([...builtins, ...customs]);
const large: [string, string][] = [
  ['English, 10 MB', sentences.English.repeat(80_000)],
  ['base64, 10 MB', Buffer.alloc(7_500_000, 'headgate').toString('base64')],
  ['a@a@…, 1 MB', 'a@'.repeat(500_000)],
  ['digits and dashes, 1 MB', '4111-'.repeat(200_000)],
  ['all different, 1 MB', Array.from({ length: 100_000 }, (_, n) => (n * 2_654_435_761).toString(36)).join(' ')],
];
for (const [name, text] of large) {
  const scan = new FilterScan(compiled);
  scan.add(text);
  scan.end();
  const slices: number[] = [];
  const start = performance.now();
  for (let isDone = false; !isDone; ) {
    const before = process.cpuUsage();
    isDone = scan.advance();
    const { user, system } = process.cpuUsage(before);
    slices.push((user + system) / 1000);
  }
  const all = performance.now() - start;
  slices.sort((a, b) => a - b);
  const [median, p99, longest] = [0.5, 0.99, 1].map((part) => slices[Math.ceil(part * slices.length) - 1]!.toFixed(1));
  const spread = `slices ${median} ms, p99 ${p99} ms, longest ${longest} ms of CPU time`;
  console.log(`| all built-in + 50 custom | ${name} | ${all.toFixed(0)} ms; ${spread} |`);
}
