import { cpuCount } from './rig.ts';
import { isRatio, baselineOf } from './rounds.ts';
import { type Figure, findMedian, type Samples, writeMicroseconds } from './samples.ts';
import { type Variant, baselineVariants } from './variants.ts';

/** A row of the table. */
interface Row {
  figure: Figure;
  label: string;
  unit: '× floor' | '× bare proxy' | '× /responses' | 'µs' | 'ms' | 'KB' | 'MB' | '%' | '/s';
  digits: number;
  /** The maximum. Absent: the row is only for information. */
  budget?: number;
  /** A stricter maximum. */
  aim?: number;
  /**
   * The statistic in the cell. Absent: the median. Figures in units of time use the minimum, because a shared machine only adds to
   * them.
   */
  shows?: 'minimum';
}

const rows: readonly Row[] = [
  { figure: 'json', label: 'CPU per buffered request, 2 KB', unit: '× floor', digits: 2, budget: 2.5, aim: 1.8 },
  { figure: 'json50', label: 'CPU per buffered request, 50 KB', unit: '× floor', digits: 2, budget: 1.6, aim: 1.25 },
  { figure: 'sse', label: 'CPU per streamed event, burst', unit: '× floor', digits: 2, budget: 2, aim: 1.4 },
  {
    figure: 'paced',
    label: 'CPU per streamed event, every 5 ms',
    unit: '× bare proxy',
    digits: 2,
    budget: 1.6,
    aim: 1.2,
  },
  {
    figure: 'halfP50Ms',
    label: 'added p50 at half the maximum rate',
    unit: 'ms',
    digits: 2,
    budget: 1,
    shows: 'minimum',
  },
  {
    figure: 'halfP99Ms',
    label: 'added p99 at half the maximum rate',
    unit: 'ms',
    digits: 2,
    budget: 5,
    shows: 'minimum',
  },
  {
    figure: 'chatRequest',
    label: '/chat/completions: CPU per request, 2 KB',
    unit: '× /responses',
    digits: 2,
    budget: 1.1,
  },
  {
    figure: 'chatEvent',
    label: '/chat/completions: CPU per streamed event, burst',
    unit: '× /responses',
    digits: 2,
    budget: 1.1,
  },
  { figure: 'messagesRequest', label: '/messages: CPU per request, 2 KB', unit: '× /responses', digits: 2 },
  { figure: 'messagesEvent', label: '/messages: CPU per streamed event, burst', unit: '× /responses', digits: 2 },
  { figure: 'stepMicroseconds', label: 'CPU per step of a run', unit: 'µs', digits: 0, budget: 200, shows: 'minimum' },
  { figure: 'openRunKb', label: 'memory per run of five steps, 500 open', unit: 'KB', digits: 1, budget: 80 },
  { figure: 'openStreamKb', label: 'memory per open stream, 1,000 open', unit: 'KB', digits: 1, budget: 50, aim: 40 },
  { figure: 'idleMb', label: 'memory, idle', unit: 'MB', digits: 0, budget: 110, aim: 90 },
  { figure: 'soakMb', label: 'memory after a million requests', unit: 'MB', digits: 0 },
  { figure: 'soakPercent', label: 'its change since the first 100,000', unit: '%', digits: 1, budget: 10 },
  { figure: 'startMs', label: 'first start to first response', unit: 'ms', digits: 0, budget: 700, aim: 400 },
  { figure: 'requestsPerSecond', label: 'requests per second, 2 KB, one CPU', unit: '/s', digits: 0 },
  { figure: 'deltaP50Ms', label: 'delta to client, every 5 ms, p50', unit: 'ms', digits: 2 },
];

/** Writes the result as a Markdown table: a row per figure, a column per gateway, and notes. */
export function writeTable(samples: Samples, variants: readonly Variant[]): string {
  const columns = [...variants, ...baselineVariants];
  const lines = [
    `| Figure | Budget | Aim | ${columns.map((variant) => variant.title).join(' | ')} |`,
    `|---|---|---|${columns.map(() => '---').join('|')}|`,
  ];
  for (const row of rows) {
    const cells = columns.map((variant) => writeCell(row, samples.list(row.figure, variant), variant));
    if (cells.every((cell) => cell === '–')) continue;
    lines.push(
      `| ${row.label} | ${writeLimit(row, row.budget)} | ${writeLimit(row, row.aim)} | ${cells.join(' | ')} |`,
    );
  }
  return [...lines, '', ...writeNotes(samples, variants)].join('\n');
}

function writeCell(row: Row, samples: readonly number[], variant: Variant): string {
  if (samples.length === 0) return '–';
  const figure = row.shows === 'minimum' ? Math.min(...samples) : findMedian(samples);
  if (isRatio(row.figure) && variant === baselineOf(row.figure)) return writeMicroseconds(figure);
  const spread = `${Math.min(...samples).toFixed(row.digits)}–${Math.max(...samples).toFixed(row.digits)}`;
  const unit = row.unit.startsWith('×') ? '×' : row.unit;
  const value = `${figure.toFixed(row.digits)} ${unit}${samples.length > 1 ? ` (${spread})` : ''}`;
  return variant.budgeted && row.budget !== undefined ? `${judge(row, row.budget, figure)} ${value}` : value;
}

function judge({ aim, figure }: Row, budget: number, median: number): string {
  const value = figure === 'soakPercent' ? Math.abs(median) : median;
  if (value > budget) return '**miss**';
  return aim !== undefined && value <= aim ? 'aim' : 'pass';
}

function writeLimit(row: Row, limit: number | undefined): string {
  if (limit === undefined) return '';
  return row.figure === 'soakPercent' ? `± ${limit} %` : `≤ ${limit} ${row.unit}`;
}

/** The change of each ratio from the other build to this one: the median of the rounds. */
function writeChanges(samples: Samples, [first, second]: readonly Variant[]): string[] {
  if (first?.name !== 'other' || second === undefined) return [];
  const changes = rows.flatMap(({ figure, label }) => {
    const before = samples.list(figure, first);
    const now = samples.list(figure, second);
    if (!isRatio(figure) || before.length === 0 || before.length !== now.length) return []; // a round failed
    const percent = (findMedian(now.map((value, round) => value / before[round]!)) - 1) * 100;
    return [`${label}: ${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`];
  });
  return changes.length === 0 ? [] : [`\n${second.title} against the other build: ${changes.join('; ')}.`];
}

function writeNotes(samples: Samples, variants: readonly Variant[]): string[] {
  const { foreignCpuPercent, failures } = samples;
  const notes = [`Node ${process.versions.node}, ${cpuCount} CPUs, ${new Date().toISOString().slice(0, 10)}.`];
  if (foreignCpuPercent.length > 0) {
    const noise = findMedian(foreignCpuPercent).toFixed(0);
    const worst = Math.max(...foreignCpuPercent).toFixed(0);
    notes.push(`Other programs used ${noise}% of a CPU around the median ratio, ${worst}% around the worst.`);
  }
  return [
    notes.join(' '),
    ...writeChanges(samples, variants),
    ...failures.map((failure) => `\nNot measured: ${failure.replaceAll('\n', ' ')}`),
  ];
}
