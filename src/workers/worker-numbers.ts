import type { Family } from '../platform/telemetry/exposition.ts';
import { joinFamilies, keepCounters } from '../platform/telemetry/join-families.ts';

/** What was counted by one worker; undefined when it did not answer. */
export interface WorkerAnswer {
  slot: number;
  families: readonly Family[] | undefined;
}

/**
 * The numbers of all workers as those of one gateway. Counters never fall: of a worker that has ended, or does not answer,
 * they are those that were seen last.
 */
export class WorkerNumbers {
  private readonly seen = new Map<number, readonly Family[]>();
  private ended: readonly Family[] = [];

  /** A worker ended: the one that takes its place begins at 0. */
  end(slot: number): void {
    this.ended = joinFamilies([this.ended, this.seen.get(slot) ?? []]);
    this.seen.delete(slot);
  }

  /** @param own of the primary. @param replaced workers that were started in place of others */
  join(own: readonly Family[], answers: readonly WorkerAnswer[], replaced: number): Family[] {
    for (const { slot, families } of answers) if (families) this.seen.set(slot, keepCounters(families));
    const present = answers.map(({ slot, families }) => families ?? this.seen.get(slot) ?? []);
    return [...joinFamilies([...present, this.ended, own]), ...describeWorkers(answers, replaced)];
  }
}

function describeWorkers(answers: readonly WorkerAnswer[], replaced: number): Family[] {
  return [
    {
      name: 'headgate_worker_up',
      help: '0: a worker that did not answer in time; what it counted since the last look is missing here.',
      type: 'gauge',
      samples: answers.map(({ slot, families }) => ({ labels: { worker: String(slot) }, value: families ? 1 : 0 })),
    },
    {
      name: 'headgate_worker_requests_total',
      help: 'Answers by worker. One that takes the place of another begins at 0.',
      type: 'counter',
      samples: answers.flatMap(({ slot, families }) =>
        families ? [{ labels: { worker: String(slot) }, value: countRequests(families) }] : [],
      ),
    },
    {
      name: 'headgate_worker_restarts_total',
      help: 'Workers that were started in place of others.',
      type: 'counter',
      samples: [{ labels: {}, value: replaced }],
    },
  ];
}

function countRequests(families: readonly Family[]): number {
  const counted = families.find(({ name }) => name === 'headgate_http_requests_total')?.samples ?? [];
  return counted.reduce((sum, { value }) => sum + (value as number), 0); // a counter, so numbers
}
