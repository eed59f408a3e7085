import type { MetricFamily } from './exposition.ts';

/** Counts the work on interns. @see docs/guides/observability.md */
export class InternNumbers {
  /** Ids of the interns that this process runs or starts. */
  readonly active = new Set<string>();
  /** Whether this process may run interns. */
  isOffered = false;
  private readonly attempts = { running: 0, failed: 0, cancelled: 0 };
  private readonly removals = { removed: 0, failed: 0 };
  private readonly runs = { completed: 0, failed: 0, skipped: 0, interrupted: 0 };
  private seconds = 0;
  private restarts = 0;
  private losses = 0;

  provisioned(outcome: 'running' | 'failed' | 'cancelled', tookMs: number): void {
    this.attempts[outcome]++;
    if (outcome === 'running') this.seconds += tookMs / 1000;
  }

  restarted(): void {
    this.restarts++;
  }

  lost(): void {
    this.losses++;
  }

  removed(outcome: 'removed' | 'failed'): void {
    this.removals[outcome]++;
  }

  ranScheduled(outcome: 'completed' | 'failed' | 'skipped' | 'interrupted'): void {
    this.runs[outcome]++;
  }

  collect(): MetricFamily[] {
    if (!this.isOffered) return [];
    const byOutcome = (counts: Record<string, number>) =>
      Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value }));
    return [
      {
        name: 'headgate_interns_active',
        help: 'Interns that this process runs or starts.',
        type: 'gauge',
        samples: [{ labels: {}, value: this.active.size }],
      },
      {
        name: 'headgate_intern_provisionings_total',
        help: 'Starts of interns, by outcome.',
        type: 'counter',
        samples: byOutcome(this.attempts),
      },
      {
        name: 'headgate_intern_provisioning_seconds_total',
        help: 'Duration of the starts of interns that ended in `running`.',
        type: 'counter',
        samples: [{ labels: {}, value: this.seconds }],
      },
      {
        name: 'headgate_intern_restarts_total',
        help: 'Runtimes of interns that were started again.',
        type: 'counter',
        samples: [{ labels: {}, value: this.restarts }],
      },
      {
        name: 'headgate_intern_losses_total',
        help: 'Runtimes of interns that could not be started again.',
        type: 'counter',
        samples: [{ labels: {}, value: this.losses }],
      },
      {
        name: 'headgate_intern_removals_total',
        help: 'Removals of interns, by outcome.',
        type: 'counter',
        samples: byOutcome(this.removals),
      },
      {
        name: 'headgate_intern_scheduled_runs_total',
        help: 'Runs of schedules and webhooks of interns, by outcome.',
        type: 'counter',
        samples: byOutcome(this.runs),
      },
    ];
  }
}
