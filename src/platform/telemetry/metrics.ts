import { performance } from 'node:perf_hooks'; // the global is a getter
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import { type CallerLabels, CallerNumbers } from './caller-numbers.ts';
import type { MetricFamily, Labels } from './exposition.ts';
import { Histogram } from './histogram.ts';
import { InternNumbers } from './intern-numbers.ts';
import { SandboxNumbers } from './sandbox-numbers.ts';
import { TagNumbers } from './tag-numbers.ts';
import { ToolNumbers } from './tool-numbers.ts';
import { listAttempts, type ObservedEndpoint, type ObservedRun, sumUpstreamMs } from './observed.ts';

/** Maximum number of model and provider pairs. All others are counted as one pair. */
const MAX_MODELS = 1_000;
/** Maximum number of endpoints of one wildcard whose health is checked. */
const MAX_ENDPOINTS = 100;

const statuses = ['2xx', '3xx', '4xx', '5xx', 'cancelled'] as const;
const CANCELLED = 4;

const tokenKinds = ['input', 'cached', 'cache_write', 'output', 'reasoning'] as const;

/** The numbers of one model at one provider. */
class ModelNumbers {
  readonly labels: Labels;
  /** By status, then buffered and streamed. */
  readonly responses = new Float64Array(statuses.length * 2);
  readonly tokens = new Float64Array(tokenKinds.length);
  costNanoUsd = 0;
  unpriced = 0;
  readonly attempts = new Map<string, number>();
  /** The attempts that were retries. */
  readonly retries = new Map<string, number>();
  /** The rules that were learned, by what was refused. */
  readonly learned = new Map<string, number>();
  readonly firstOutput = new Histogram();
  /** Buffered and streamed. */
  readonly duration = [new Histogram(), new Histogram()] as const;
  /** A wildcard has several. */
  readonly endpointIds = new Set<string>();

  constructor(model: string, provider: string) {
    this.labels = { model, provider };
  }
}

/** Counts the responses of one route. */
export type CountResponse = (status: number, isComplete: boolean) => void;

/** An export of the ledger. */
export interface ExportNumbers {
  sink: string;
  /** Age of the oldest row that is not written. 0: all are written. */
  lagMs: number;
  /** Rows that are not written, of at most 10,000 that are counted. */
  waiting: number;
  written: number;
  failures: number;
}

/** Values that are read only when metrics are collected. */
export interface MetricSources {
  isStable: (endpointId: string) => boolean;
  openRequests: () => number;
  openStreams: () => number;
  journalEntries: () => number;
  /** Whether days of the ledger cannot be archived. */
  isArchiveFailing: () => boolean;
  /** Rows of the ledger that this process has archived. */
  archivedRows: () => number;
  /** Number of contents that were not kept, and bytes of those that wait. */
  contentsDropped: () => number;
  contentBytes: () => number;
  /** The exports of the ledger that this process does. */
  exports: () => readonly ExportNumbers[];
  /** The longest delay of the event loop since the last collection, milliseconds. */
  loopDelayMs: () => number;
  version: string;
}

/**
 * All metrics. Counting a run only adds numbers: the labels of an endpoint are looked up once, and text is written only
 * when metrics are collected. prom-client, which would otherwise be preferable, builds a string of all labels for every
 * addition, which costs ten times as much.
 *
 * @see docs/guides/observability.md
 */
export class Metrics {
  private readonly known = new WeakMap<ObservedEndpoint, ModelNumbers>();
  private readonly models = new Map<string, ModelNumbers>();
  private readonly nobody = new ModelNumbers('none', 'none');
  private readonly others = new ModelNumbers('other', 'other');
  private readonly queue = new Histogram();
  private readonly overhead = [new Histogram(), new Histogram()] as const;
  private readonly routes: { labels: Labels; counts: Float64Array }[] = [];
  private readonly limits = new Map<string, { labels: Labels; hits: number }>();
  private readonly tools = new ToolNumbers();
  private readonly tags = new TagNumbers();
  readonly sandboxes = new SandboxNumbers();
  readonly interns = new InternNumbers();

  private readonly callers: CallerNumbers;
  private counterFailures = 0;

  constructor(callers: CallerLabels = 'none') {
    this.callers = new CallerNumbers(callers);
  }

  /** @returns a function that counts the responses of a route; call it once for each */
  watchRoute(method: string, route: string): CountResponse {
    const counts = new Float64Array(statuses.length);
    this.routes.push({ labels: { method, route }, counts });
    return (status, isComplete) => {
      counts[isComplete ? statusIndex(status) : CANCELLED]!++;
    };
  }

  /**
   * Counts a request that a limit rejected.
   *
   * @param limit the counted unit: `requests`, `tokens`
   * @param scope the holder of the limit: `key`
   */
  countLimitHit(limit: string, scope: string): void {
    const name = `${limit} ${scope}`;
    const known = this.limits.get(name);
    if (known) known.hits++;
    else this.limits.set(name, { labels: { limit, scope }, hits: 1 });
  }

  /** Counts a call to which the shared counters did not respond. */
  countCounterFailure(): void {
    this.counterFailures++;
  }

  observe(run: ObservedRun, entry: LedgerEntry): void {
    const { origin } = run;
    const attempts = listAttempts(run);
    for (let at = 0; at < attempts.length; at++) {
      const { endpoint, error, isRetry, learned } = attempts[at]!;
      const counted = this.numbersOf(endpoint);
      const outcome = error ? error.kind : 'ok';
      countOne(counted.attempts, outcome);
      if (isRetry) countOne(counted.retries, outcome);
      for (const { name } of learned ?? []) countOne(counted.learned, name);
    }
    const endpoint = (run.steps.at(-1)?.committed ?? attempts.at(-1))?.endpoint;
    const numbers = endpoint ? this.numbersOf(endpoint) : this.nobody;
    const { tokens } = numbers;
    tokens[0]! += entry.inputTokens;
    tokens[1]! += entry.cachedTokens;
    tokens[2]! += entry.cacheWriteTokens;
    tokens[3]! += entry.outputTokens;
    tokens[4]! += entry.reasoningTokens;
    numbers.costNanoUsd += Number(entry.costNanoUsd);
    if (!entry.priced) numbers.unpriced++;
    if (run.toolLoop) this.tools.count(run.toolLoop.calls);
    const status = entry.outcome === 'cancelled' ? CANCELLED : statusIndex(entry.status);
    this.callers.count(run.caller, entry, origin && statuses[status]);
    this.tags.count(entry, origin === undefined);
    if (!origin) return; // the gateway itself made the request, as part of a request that is counted

    const now = performance.now();
    const streamed = entry.streamed ? 1 : 0;
    numbers.responses[status * 2 + streamed]!++;
    const totalMs = now - origin.receivedAt;
    numbers.duration[streamed].observe(totalMs / 1000);
    if (streamed === 1 && run.firstOutputAt !== undefined) {
      numbers.firstOutput.observe((run.firstOutputAt - origin.receivedAt) / 1000);
    }
    this.queue.observe((origin.handledAt - origin.receivedAt) / 1000);
    this.overhead[streamed].observe((totalMs - sumUpstreamMs(run, now)) / 1000);
  }

  collect(sources: MetricSources): MetricFamily[] {
    const versions = { version: sources.version, node: process.version };
    const used = [...this.models.values(), this.nobody, this.others];
    const asked = [...this.models.values()].filter(({ endpointIds }) => endpointIds.size > 0);
    return [
      {
        name: 'headgate_http_requests_total',
        help: 'Responses by route. cancelled: the client disconnected before the end.',
        type: 'counter',
        samples: this.routes.flatMap(({ labels, counts }) => byStatus(labels, counts)),
      },
      {
        name: 'headgate_responses_total',
        help: 'Requests to models, by their final status. An interrupted stream counts as 5xx.',
        type: 'counter',
        samples: used.flatMap(({ labels, responses }) =>
          statuses.flatMap((status, at) =>
            [false, true].flatMap((isStreamed, streamed) =>
              above0({ ...labels, status, streamed: String(isStreamed) }, responses[at * 2 + streamed]!),
            ),
          ),
        ),
      },
      {
        name: 'headgate_response_duration_seconds',
        help: 'Time from the arrival of a request, waiting included, to the end of its response.',
        type: 'histogram',
        samples: used.flatMap(({ labels, duration }) => byStreamed(labels, duration)),
      },
      {
        name: 'headgate_first_output_seconds',
        help: 'Time from the arrival of a streamed request to its first visible output.',
        type: 'histogram',
        samples: used.flatMap(({ labels, firstOutput }) => observed(labels, firstOutput)),
      },
      {
        name: 'headgate_queue_seconds',
        help: 'Wait of a request before its handler: for the event loop, its body and its key.',
        type: 'histogram',
        samples: [{ labels: {}, value: this.queue }],
      },
      {
        name: 'headgate_overhead_seconds',
        help: 'Duration, waiting included, without the time from sending to providers to the end of their responses.',
        type: 'histogram',
        samples: byStreamed({}, this.overhead),
      },
      {
        name: 'headgate_tokens_total',
        help: 'Tokens. cached and cache_write are parts of input, reasoning is a part of output.',
        type: 'counter',
        samples: used.flatMap(({ labels, tokens }) =>
          tokenKinds.flatMap((kind, at) => above0({ ...labels, kind }, tokens[at]!)),
        ),
      },
      {
        name: 'headgate_cost_usd_total',
        help: 'Cost of responses, in US dollars.',
        type: 'counter',
        samples: used.flatMap(({ labels, costNanoUsd }) => above0(labels, costNanoUsd / 1e9)),
      },
      {
        name: 'headgate_unpriced_responses_total',
        help: 'Responses without a known price. Their cost counts as 0.',
        type: 'counter',
        samples: used.flatMap(({ labels, unpriced }) => above0(labels, unpriced)),
      },
      {
        name: 'headgate_attempts_total',
        help: 'Attempts at endpoints: ok, or the kind of error (docs/reference/errors.md).',
        type: 'counter',
        samples: used.flatMap(({ labels, attempts }) =>
          [...attempts].map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
        ),
      },
      {
        name: 'headgate_retries_total',
        help: 'Attempts that repeat a failed one at the same endpoint, by outcome. headgate_attempts_total includes them.',
        type: 'counter',
        samples: used.flatMap(({ labels, retries }) =>
          [...retries].map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
        ),
      },
      {
        name: 'headgate_learned_rules_total',
        help: 'Rules that refusals of providers have taught, by what was refused.',
        type: 'counter',
        samples: used.flatMap(({ labels, learned }) =>
          [...learned].map(([refused, value]) => ({ labels: { ...labels, refused }, value })),
        ),
      },
      ...this.callers.collect(),
      ...this.tags.collect(),
      ...this.tools.collect(),
      ...this.sandboxes.collect(),
      ...this.interns.collect(),
      {
        name: 'headgate_endpoint_stable',
        help: '0 during an outage of an endpoint, which is then tried last. Only endpoints that were used.',
        type: 'gauge',
        across: 'min',
        samples: asked.map(({ labels, endpointIds }) => ({
          labels,
          value: [...endpointIds].every(sources.isStable) ? 1 : 0,
        })),
      },
      {
        name: 'headgate_limit_hits_total',
        help: 'Requests that a limit rejected.',
        type: 'counter',
        samples: [...this.limits.values()].map(({ labels, hits }) => ({ labels, value: hits })),
      },
      {
        name: 'headgate_counter_failures_total',
        help: 'Failed or late calls to the shared counters of limits and budgets.',
        type: 'counter',
        samples: above0({}, this.counterFailures),
      },
      gauge('headgate_open_requests', 'Requests with a key in flight.', sources.openRequests()),
      gauge('headgate_open_streams', 'Streamed responses in flight.', sources.openStreams()),
      gauge('headgate_journal_entries', 'Ledger entries that wait for the store.', sources.journalEntries()),
      gauge(
        'headgate_ledger_archive_failing',
        '1 while days of the ledger cannot be moved to the store of files.',
        sources.isArchiveFailing() ? 1 : 0,
      ),
      {
        name: 'headgate_ledger_archived_rows_total',
        help: 'Entries and corrections that were moved from the ledger to the store of files.',
        type: 'counter',
        samples: [{ labels: {}, value: sources.archivedRows() }],
      },
      {
        name: 'headgate_contents_dropped_total',
        help: 'Inputs and outputs that were dropped, because the store was too slow or unavailable.',
        type: 'counter',
        samples: [{ labels: {}, value: sources.contentsDropped() }],
      },
      gauge('headgate_contents_pending_bytes', 'Inputs and outputs that wait for the store.', sources.contentBytes()),
      ...describeExports(sources.exports()),
      { ...gauge('headgate_info', 'The build that runs.', 1, versions), across: 'max' },
      ...describeProcess(sources.loopDelayMs),
    ];
  }

  private numbersOf(endpoint: ObservedEndpoint): ModelNumbers {
    return this.known.get(endpoint) ?? this.meet(endpoint);
  }

  /**
   * Finds or creates the numbers of an endpoint. Counts all slugs of a wildcard as one, because a caller can invent
   * slugs.
   */
  private meet(endpoint: ObservedEndpoint): ModelNumbers {
    const model = endpoint.pattern ?? endpoint.model;
    const { id: provider } = endpoint.provider;
    const label = `${model}\n${provider}`;
    let numbers = this.models.get(label);
    if (!numbers && this.models.size < MAX_MODELS) {
      numbers = new ModelNumbers(model, provider);
      this.models.set(label, numbers);
    }
    numbers ??= this.others;
    if (numbers.endpointIds.size < MAX_ENDPOINTS) numbers.endpointIds.add(endpoint.id);
    this.known.set(endpoint, numbers);
    return numbers;
  }
}

function statusIndex(status: number): number {
  if (status < 300) return 0;
  if (status < 400) return 1;
  return status < 500 ? 2 : 3;
}

/** Omits values of 0, because most models are never requested. */
const above0 = (labels: Labels, value: number) => (value > 0 ? [{ labels, value }] : []);

const observed = (labels: Labels, value: Histogram) =>
  value.counts.some((count) => count > 0) ? [{ labels, value }] : [];

const byStatus = (labels: Labels, counts: Float64Array) =>
  statuses.flatMap((status, at) => above0({ ...labels, status }, counts[at]!));

const byStreamed = (labels: Labels, [buffered, streamed]: readonly [Histogram, Histogram]) => [
  ...observed({ ...labels, streamed: 'false' }, buffered),
  ...observed({ ...labels, streamed: 'true' }, streamed),
];

const gauge = (name: string, help: string, value: number, labels: Labels = {}): MetricFamily => ({
  name,
  help,
  type: 'gauge',
  samples: [{ labels, value }],
});

function describeExports(exports: readonly ExportNumbers[]): MetricFamily[] {
  const family = (
    name: string,
    help: string,
    type: 'counter' | 'gauge',
    read: (numbers: ExportNumbers) => number,
  ): MetricFamily => ({
    name,
    help,
    type,
    samples: exports.map((numbers) => ({ labels: { sink: numbers.sink }, value: read(numbers) })),
  });
  if (exports.length === 0) return [];
  return [
    family(
      'headgate_export_lag_seconds',
      'Age of the oldest row of the ledger that is not exported.',
      'gauge',
      (one) => one.lagMs / 1000,
    ),
    family(
      'headgate_export_waiting_rows',
      'Rows that are not exported. At most 10,000 are counted.',
      'gauge',
      ({ waiting }) => waiting,
    ),
    family('headgate_export_rows_total', 'Rows that were exported.', 'counter', ({ written }) => written),
    family('headgate_export_failures_total', 'Failed attempts to export rows.', 'counter', ({ failures }) => failures),
  ];
}

/** Describes this process under the names that common dashboards use. */
export function describeProcess(loopDelayMs: () => number): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const startedAt = performance.timeOrigin / 1000;
  return [
    {
      name: 'process_cpu_seconds_total',
      help: 'User and system CPU time.',
      type: 'counter',
      samples: [{ labels: {}, value: (user + system) / 1e6 }],
    },
    { ...gauge('process_start_time_seconds', 'Start of the process, Unix seconds.', startedAt), across: 'min' },
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use.', heapUsed),
    gauge('nodejs_heap_size_total_bytes', 'Allocated heap.', heapTotal),
    gauge('nodejs_external_memory_bytes', 'Memory outside of the heap, such as buffers.', external),
    {
      ...gauge(
        'nodejs_eventloop_lag_max_seconds',
        'Longest delay of the event loop since the last look.',
        loopDelayMs() / 1000,
      ),
      across: 'max',
    },
  ];
}

const countOne = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);
