import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import type { GatewayError } from '../../domain/errors.ts';
import { logFailedAttempts } from './attempt-log.ts';
import type { CallerLabels } from './caller-numbers.ts';
import type { MetricFamily } from './exposition.ts';
import { keepCounters } from './join-families.ts';
import { LoopProbe } from './loop-probe.ts';
import { type MetricSources, Metrics } from './metrics.ts';
import type { Observe } from './observed.ts';
import type { Log } from './open-log.ts';
import { RejectedKeyLog } from './rejected-key-log.ts';
import { createRequestLog, findFailure } from './request-log.ts';
import type { InternNumbers } from './intern-numbers.ts';
import type { SandboxNumbers } from './sandbox-numbers.ts';
import type { TracingSettings } from './tracing/open-tracing.ts';

export interface TelemetryParts {
  log: Pick<Log, 'write' | 'isEnabled'>;
  /** `log.requests`. */
  logsRequests: () => boolean;
  sources: Omit<MetricSources, 'loopDelayMs'>;
  /** `server.metrics_callers`. */
  callers: CallerLabels;
  /** Undefined: no traces, and OpenTelemetry is not loaded. */
  tracing: TracingSettings | undefined;
}

/** The required fields of a request of the HTTP server. */
interface Answered {
  readonly id: string;
  readonly generationId: string;
  readonly method: string;
  readonly receivedAt: number;
  readonly hasRun: boolean;
  readonly failure: GatewayError | undefined;
  readonly raw: IncomingMessage;
}

export interface Telemetry {
  /** For `PipelineParts`. */
  observe: Observe;
  /** For the edge: returns the time from which a request that is read now may have waited. */
  receivedAt: () => number;
  /** For the edge: returns a function that reports each response of a route. */
  watchRoute: (method: string, route: string) => (request: Answered, raw: ServerResponse) => void;
  /** For services of the operator. */
  rejectedKeys: Pick<RejectedKeyLog, 'noteService'>;
  /** For limiters. @see Metrics.countLimitHit */
  countLimitHit: (limit: string, scope: string) => void;
  /** For shared counters. @see Metrics.countCounterFailure */
  countCounterFailure: () => void;
  /** For containers. */
  sandboxes: SandboxNumbers;
  /** For interns. */
  interns: InternNumbers;
  collect: () => MetricFamily[];
  /** Collects the metrics that only increase. Does not reset values for the next collection. */
  collectCounters: () => MetricFamily[];
  /** Exports the last spans, within a time limit. */
  close: () => Promise<void>;
}

/** @throws {Error} for the operator, with the packages to install, if traces are configured and cannot be created */
export async function openTelemetry({
  log,
  logsRequests,
  sources,
  callers,
  tracing,
}: TelemetryParts): Promise<Telemetry> {
  const metrics = new Metrics(callers);
  const requests = createRequestLog(log, logsRequests);
  const tracer = tracing && (await openTracer(tracing, log));
  const probe = new LoopProbe();
  const rejectedKeys = new RejectedKeyLog(log.write);
  /** Failures of runs, which their lines report. */
  const reported = new WeakSet<GatewayError>();

  return {
    observe(run, entry, readContents) {
      metrics.observe(run, entry);
      requests.writeRun(run, entry);
      const failure = findFailure(run);
      if (failure) reported.add(failure);
      logFailedAttempts(log.write, rejectedKeys, run, failure !== undefined || logsRequests());
      tracer?.observe(run, entry, readContents);
    },
    receivedAt() {
      const now = performance.now();
      return now - probe.behindMs(now);
    },
    watchRoute(method, route) {
      const count = metrics.watchRoute(method, route);
      return (request, raw) => {
        const { statusCode: status, writableFinished: isComplete } = raw;
        count(status, isComplete);
        const { failure } = request;
        if (failure ? reported.has(failure) : request.hasRun) return;
        requests.writeResponse(failure, () => {
          const { id: requestId, generationId, receivedAt } = request;
          return { requestId, generationId, method: request.method, route, status, isComplete, receivedAt };
        });
      };
    },
    rejectedKeys,
    countLimitHit: (limit, scope) => metrics.countLimitHit(limit, scope),
    countCounterFailure: () => metrics.countCounterFailure(),
    sandboxes: metrics.sandboxes,
    interns: metrics.interns,
    collect: () => metrics.collect({ ...sources, loopDelayMs: () => probe.takeLongestMs() }),
    collectCounters: () => keepCounters(metrics.collect({ ...sources, loopDelayMs: () => 0 })),
    async close() {
      probe.close();
      await tracer?.close();
    },
  };
}

async function openTracer(settings: TracingSettings, log: TelemetryParts['log']) {
  const { openTracing } = await import('./tracing/open-tracing.ts');
  return openTracing(settings, log.write);
}
