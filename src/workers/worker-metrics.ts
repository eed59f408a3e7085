import type { MetricFamily } from '../platform/telemetry/exposition.ts';
import { joinFamilies, keepCounters } from '../platform/telemetry/join-families.ts';

/** The metrics of one worker. Undefined: it did not respond. */
export interface WorkerReport {
  slot: number;
  families: readonly MetricFamily[] | undefined;
}

/** The counters of one worker, from its start to its end. */
export interface WorkerLife {
  /** Receives the worker's counters, which cover its whole life. */
  see(families: readonly MetricFamily[]): void;
  /** Ends the life. The worker reports nothing further, and its replacement starts at 0. */
  end(): void;
}

interface Counted {
  slot: number;
  counters: readonly MetricFamily[];
}

/**
 * Joins the metrics of all workers into those of one gateway. Counters never decrease: if a worker has ended or does
 * not respond, its last report counts.
 */
export class WorkerMetrics {
  private readonly workers: number;
  private readonly living = new Set<Counted>();
  private ended: readonly MetricFamily[] = [];
  /** Requests of ended workers, by slot. */
  private readonly endedRequests = new Map<number, number>();

  /** @param workers number of workers */
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
   * @param own metrics of the primary
   * @param answers of the current workers; their counters were seen
   * @param replaced number of workers that replaced others
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
        help: '0: a worker that did not respond in time, or an empty slot. Its counts of the last second may be missing here.',
        type: 'gauge',
        samples: bySlot((slot) => (answered.has(slot) ? 1 : 0)),
      },
      {
        name: 'headgate_worker_requests_total',
        help: 'Requests by worker slot, including those of replaced workers.',
        type: 'counter',
        samples: bySlot((slot) => requests.get(slot) ?? 0),
      },
      {
        name: 'headgate_worker_restarts_total',
        help: 'Workers that replaced others.',
        type: 'counter',
        samples: [{ labels: {}, value: replaced }],
      },
    ];
  }
}

function countRequests(families: readonly MetricFamily[]): number {
  const counted = families.find(({ name }) => name === 'headgate_http_requests_total')?.samples ?? [];
  return counted.reduce((sum, { value }) => sum + (value as number), 0); // counters have numbers as values
}
