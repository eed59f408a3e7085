import { currentTimeMs } from '../domain/clock.ts';
import type { ExportNumbers } from '../platform/telemetry/metrics.ts';
import type { ExportState } from './run-export.ts';

/** The exports that this process does. */
export interface ExportMonitor {
  /** Adds an export. @param lateMs age of its oldest row from which it is late */
  add(state: ExportState, lateMs: number): void;
  /** For metrics. */
  collect(): ExportNumbers[];
  /** For `/ready`. */
  findLate: () => { sink: string; oldestAtMs: number }[];
}

/** Creates the monitor. It has no exports. */
export function createExportMonitor(): ExportMonitor {
  const exports: { state: ExportState; lateMs: number }[] = [];
  return {
    add: (state, lateMs) => void exports.push({ state, lateMs }),
    collect: () =>
      exports.map(({ state: { sink, oldestAtMs, waiting, written, failures } }) => ({
        sink,
        lagMs: oldestAtMs === undefined ? 0 : Math.max(0, currentTimeMs() - oldestAtMs),
        waiting,
        written,
        failures,
      })),
    findLate: () =>
      exports.flatMap(({ state: { sink, oldestAtMs }, lateMs }) =>
        oldestAtMs !== undefined && currentTimeMs() - oldestAtMs > lateMs ? [{ sink, oldestAtMs }] : [],
      ),
  };
}
