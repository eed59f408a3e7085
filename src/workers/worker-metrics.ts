import type { MetricFamily } from '../platform/telemetry/exposition.ts';
import { joinFamilies, keepCounters } from '../platform/telemetry/join-families.ts';

/** What was counted by one worker; undefined when it did not answer. */
export interface WorkerReport {
  slot: number;
  families: readonly MetricFamily[] | undefined;
}

/** What is known of a worker's counters, from its start to its end. */
export interface WorkerLife {
  /** It told them; each time they are those of its whole life. */
  see(families: readonly MetricFamily[]): void;
  /** Nothing more comes of it. Whoever takes its place begins another life, at 0. */
  end(): void;
}

interface Counted {
  slot: number;
  counters: readonly MetricFamily[];
}

/**
 * The numbers of all workers as those of one gateway. Counters never fall: of a worker that has ended, or does not answer,
 * they are what it told last.
 */
export class WorkerMetrics {
  private readonly workers: number;
  private readonly living = new Set<Counted>();
  private ended: readonly MetricFamily[] = [];
  /** Answers of workers that have ended, by slot. */
  private readonly endedRequests = new Map<number, number>();

  /** @param workers how many there are */
  constructor(workers: number) {
    this.workers = workers;
  }

  begin(slot: number): WorkerLife {
    const life: Counted = { slot, counters: [] };
    this.living.add(life);
    return {
      see: (families) => {
        life.counters = keepCounters(families);
      },
      end: () => {
        if (!this.living.delete(life)) return;
        this.ended = joinFamilies([this.ended, life.counters]);
        this.endedRequests.set(slot, (this.endedRequests.get(slot) ?? 0) + countRequests(life.counters));
      },
    };
  }

  /**
   * @param own of the primary
   * @param answers of those that serve; their counters have been seen
   * @param replaced workers that were started in place of others
   */
  join(own: readonly MetricFamily[], answers: readonly WorkerReport[], replaced: number): MetricFamily[] {
    const counters = [...this.living].map((life) => life.counters);
    const gauges = answers.map(({ families = [] }) => families.filter(({ type }) => type === 'gauge'));
    return [...joinFamilies([...counters, this.ended, ...gauges, own]), ...this.describeWorkers(answers, replaced)];
  }

  private describeWorkers(answers: readonly WorkerReport[], replaced: number): MetricFamily[] {
    const answered = new Set(answers.flatMap(({ slot, families }) => (families ? [slot] : [])));
    const requests = new Map(this.endedRequests);
    for (const { slot, counters } of this.living)
      requests.set(slot, (requests.get(slot) ?? 0) + countRequests(counters));
    const bySlot = (read: (slot: number) => number) =>
      Array.from({ length: this.workers }, (_, slot) => ({ labels: { worker: String(slot) }, value: read(slot) }));
    return [
      {
        name: 'headgate_worker_up',
        help: '0: a worker that did not answer in time, or whose place is empty; what it counted in the last second may be missing here.',
        type: 'gauge',
        samples: bySlot((slot) => (answered.has(slot) ? 1 : 0)),
      },
      {
        name: 'headgate_worker_requests_total',
        help: 'Answers by worker, with those of the workers that had its place before.',
        type: 'counter',
        samples: bySlot((slot) => requests.get(slot) ?? 0),
      },
      {
        name: 'headgate_worker_restarts_total',
        help: 'Workers that were started in place of others.',
        type: 'counter',
        samples: [{ labels: {}, value: replaced }],
      },
    ];
  }
}

function countRequests(families: readonly MetricFamily[]): number {
  const counted = families.find(({ name }) => name === 'headgate_http_requests_total')?.samples ?? [];
  return counted.reduce((sum, { value }) => sum + (value as number), 0); // a counter, so numbers
}
