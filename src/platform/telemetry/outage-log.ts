import { performance } from 'node:perf_hooks'; // the global is a getter
import type { LogFields, WriteLog } from './log-messages.ts';

/** The services whose outages are lines of the log: its message and that of the recovery. */
const outages = {
  store: { begins: 'store unavailable', ends: 'store recovered' },
  counters: { begins: 'counters unavailable', ends: 'counters recovered' },
} as const;

export type OutageOf = keyof typeof outages;
export type OutageFields = LogFields<'store unavailable'> & LogFields<'counters unavailable'>;

/** Receives the outages that one process observes. */
export interface OutageReports {
  begin(service: OutageOf, fields: OutageFields): void;
  end(service: OutageOf): void;
}

/** Writes one line for each outage of a service and one for its end, however many processes observe it. */
export class OutageLog {
  private readonly log: WriteLog;
  private readonly open = new Map<OutageOf, { startedAt: number; observers: Set<OutageReports> }>();

  constructor(log: WriteLog) {
    this.log = log;
  }

  /** @param gone aborted when the process of the observer has ended */
  observe(gone?: AbortSignal): OutageReports {
    const reports: OutageReports = {
      begin: (service, fields) => {
        if (gone?.aborted) return;
        const known = this.open.get(service);
        if (known) known.observers.add(reports);
        else {
          this.open.set(service, { startedAt: performance.now(), observers: new Set([reports]) });
          this.log(outages[service].begins, fields);
        }
      },
      end: (service) => {
        const known = this.open.get(service);
        if (!known?.observers.delete(reports) || known.observers.size > 0) return;
        this.open.delete(service);
        this.log(outages[service].ends, { outage_ms: Math.round(performance.now() - known.startedAt) });
      },
    };
    gone?.addEventListener('abort', () => {
      for (const service of [...this.open.keys()]) reports.end(service);
    });
    return reports;
  }
}
