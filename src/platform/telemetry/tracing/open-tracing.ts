import { createRequire } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks'; // the global is a getter
import { pathToFileURL } from 'node:url';
import type { Context, Tracer } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { WriteLog } from '../log-messages.ts';
import type { Observe, ObservedRun, ReadContents } from '../observed.ts';
import { describeContents } from './describe-contents.ts';
import { describeSpans, type SpanDescription } from './describe-spans.ts';
import { isTraced, readTraceParent, type TraceParent } from './trace-parent.ts';

export interface TracingSettings {
  /** A URL. `/v1/traces` is appended unless the URL has it. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  /** 0 to 1. */
  sampling: number;
  serviceName: string;
  version: string;
  /** Maximum bytes of the contents of a span. Undefined: spans have no contents. */
  contentBytes?: number | undefined;
  /** How long spans are collected for one export. Default: 1 s. */
  gatherMs?: number | undefined;
}

export interface Tracing {
  observe: Observe;
  /** Exports the remaining spans, within the time of one batch. */
  close(): Promise<void>;
}

const packages = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const;

/** Maximum spans in memory. Further ones are dropped. About 10 MB. */
const MAX_SPANS = 4096;
/** The same for spans with contents, of which an export has fewer: some collectors accept 4 MB. */
const MAX_LARGE_SPANS = 1024;
const MAX_LARGE_BATCH = 64;
const EXPORT_MS = 5000;
const DEFAULT_GATHER_MS = 1000;
/** Minimum interval between logged failures. */
const REPORT_INTERVAL_MS = 60_000;

/**
 * Loads OpenTelemetry and creates spans of finished runs. It creates them after the response was passed on, keeps them
 * in a bounded queue that drops the excess, and exports them in batches. A slow or unavailable collector loses only
 * spans.
 *
 * @param locate returns the URL of a package, or throws
 * @throws {Error} naming the packages to install, for the operator
 */
export async function openTracing(
  settings: TracingSettings,
  log: WriteLog,
  locate: (name: string) => string = locateInstalled,
): Promise<Tracing> {
  const { api, sdk, resources, otlp } = await loadPackages(locate);
  const report = limitRate(log);
  const { contentBytes } = settings;
  const url = /\/v1\/traces\/?$/.test(settings.endpoint)
    ? settings.endpoint
    : `${settings.endpoint.replace(/\/$/, '')}/v1/traces`;
  const exporter = new otlp.OTLPTraceExporter({
    url,
    headers: { ...settings.headers },
    timeoutMillis: EXPORT_MS,
    concurrencyLimit: 4,
  });
  const ids = new sdk.RandomIdGenerator();
  let wantedTraceId: string | undefined;
  const provider = new sdk.TracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES, as https://github.com/mlflow/mlflow/issues/17987 expects it
    resource: resources.detectResources({ detectors: [resources.envDetector] }).merge(
      resources.resourceFromAttributes({
        'service.name': settings.serviceName,
        'service.version': settings.version,
      }),
    ),
    sampler: new sdk.AlwaysOnSampler(), // already sampled, regardless of OTEL_TRACES_SAMPLER
    idGenerator: {
      generateTraceId: () => wantedTraceId ?? ids.generateTraceId(),
      generateSpanId: () => ids.generateSpanId(),
    },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: watched(exporter, report),
        ...(contentBytes === undefined
          ? { maxQueueSize: MAX_SPANS }
          : { maxQueueSize: MAX_LARGE_SPANS, maxExportBatchSize: MAX_LARGE_BATCH }),
        scheduledDelayMillis: settings.gatherMs ?? DEFAULT_GATHER_MS,
        exportTimeoutMillis: EXPORT_MS + 1000,
      }),
    ],
  });
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL };
  const tracer = provider.getTracer('headgate', settings.version);

  function write(run: ObservedRun, entry: LedgerEntry, parent: TraceParent, now: number, read?: ReadContents): void {
    const { traceId, spanId } = parent;
    const content = contentBytes === undefined ? undefined : read?.(contentBytes);
    const above =
      traceId !== undefined && spanId !== undefined
        ? api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true })
        : api.ROOT_CONTEXT;
    wantedTraceId = traceId;
    writeSpan(tracer, describeSpans(run, entry, now, content && describeContents(content, entry)), above);
  }

  function writeSpan(from: Tracer, description: SpanDescription, above: Context): void {
    const { name, kind, startMs, endMs, attributes, errorType, children } = description;
    const span = from.startSpan(name, { kind: kinds[kind], startTime: startMs, attributes }, above);
    wantedTraceId = undefined; // only the first span of a trace needs it
    if (errorType !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
    const within = api.trace.setSpan(api.ROOT_CONTEXT, span);
    for (const child of children) writeSpan(from, child, within);
    span.end(endMs);
  }

  return {
    observe(run, entry, readContents) {
      const { origin, request } = run;
      if (!origin) return; // an internal request
      const parent = readTraceParent(origin.traceparent, request.trace);
      if (!isTraced(settings.sampling, request.session_id, parent)) return;
      const now = performance.now();
      setImmediate(() => {
        try {
          write(run, entry, parent, now, readContents);
        } catch (error) {
          report('span creation failed', { err: error });
        }
      });
    },
    async close() {
      await new Promise((resolve) => setImmediate(resolve)); // spans in progress
      await provider.shutdown();
    },
  };
}

/** Reports failures here, because the SDK would report them to a handler that the whole process shares. */
function watched(exporter: SpanExporter, report: WriteLog): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) report('trace export failed', { err: result.error, spans: spans.length });
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** Writes at most one line per `REPORT_INTERVAL_MS` and drops the rest. */
function limitRate(log: WriteLog): WriteLog {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (message, fields, level) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = now;
    log(message, fields, level);
  };
}

/** Loads the packages from the installation of Headgate, or from the working directory. */
async function loadPackages(locate: (name: string) => string) {
  try {
    const [api, sdk, resources, otlp] = await Promise.all(packages.map((name) => import(locate(name))));
    return {
      api: api as typeof import('@opentelemetry/api'),
      sdk: sdk as typeof import('@opentelemetry/sdk-trace'),
      resources: resources as typeof import('@opentelemetry/resources'),
      otlp: otlp as typeof import('@opentelemetry/exporter-trace-otlp-http'),
    };
  } catch (cause) {
    const message = `telemetry.otlp_endpoint needs packages that are not installed. Run: npm install ${packages.join(' ')}`;
    throw new Error(message, { cause });
  }
}

function locateInstalled(name: string): string {
  for (const place of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return pathToFileURL(createRequire(place).resolve(name)).href;
    } catch {
      // not installed in this place
    }
  }
  throw new Error(`${name} is not installed.`);
}
