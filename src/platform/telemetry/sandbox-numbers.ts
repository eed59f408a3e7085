import type { MetricFamily } from './exposition.ts';

/** Counts the sandboxes of containers. @see docs/guides/observability.md */
export class SandboxNumbers {
  /** Number of running sandboxes of this process. */
  running: () => number = () => 0;
  /** The driver that runs them. */
  driver = 'none';
  /** The traffic of their networks. */
  readonly egress = { served: 0, refused: 0, failed: 0, sentBytes: 0, receivedBytes: 0 };
  private starts = 0;
  private seconds = 0;
  private readonly failures = new Map<string, number>();

  started(): void {
    this.starts++;
  }

  ended(ranMs: number): void {
    this.seconds += ranMs / 1000;
  }

  failed(reason: string): void {
    this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
  }

  collect(): MetricFamily[] {
    const { driver } = this;
    if (driver === 'none') return [];
    const labels = { driver };
    return [
      {
        name: 'headgate_sandboxes_running',
        help: 'Sandboxes of containers that run or start.',
        type: 'gauge',
        samples: [{ labels, value: this.running() }],
      },
      {
        name: 'headgate_sandbox_starts_total',
        help: 'Sandboxes that were started.',
        type: 'counter',
        samples: [{ labels, value: this.starts }],
      },
      {
        name: 'headgate_sandbox_seconds_total',
        help: 'Duration of the sandboxes that have ended.',
        type: 'counter',
        samples: [{ labels, value: this.seconds }],
      },
      {
        name: 'headgate_sandbox_failures_total',
        help: 'Sandboxes that did not start (start), ended by themselves (crash) or lost their container (lease), and saves of files that failed (save).',
        type: 'counter',
        samples: [...this.failures].map(([reason, value]) => ({ labels: { ...labels, reason }, value })),
      },
      {
        name: 'headgate_sandbox_egress_requests_total',
        help: 'Requests and tunnels from sandboxes to hosts, by outcome.',
        type: 'counter',
        samples: Object.entries({
          served: this.egress.served,
          refused: this.egress.refused,
          failed: this.egress.failed,
        }).map(([outcome, value]) => ({ labels: { outcome }, value })),
      },
      {
        name: 'headgate_sandbox_egress_bytes_total',
        help: 'Bytes of connections from sandboxes to hosts that have ended.',
        type: 'counter',
        samples: [
          { labels: { direction: 'sent' }, value: this.egress.sentBytes },
          { labels: { direction: 'received' }, value: this.egress.receivedBytes },
        ],
      },
    ];
  }
}
