import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import {
  listAttempts,
  type ObservedAttempt,
  type ObservedRun,
  type ObservedStep,
  type ObservedToolCall,
  sumUpstreamMs,
} from '../observed.ts';
import { otelProviderNames } from './provider-names.ts';

export type Attributes = Record<string, string | number | boolean | string[]>;

export interface SpanDescription {
  name: string;
  /** Unix milliseconds, with fractions. */
  startMs: number;
  endMs: number;
  attributes: Attributes;
  kind: 'server' | 'client' | 'internal';
  /** The `error_type`. Never the message, because a provider may have quoted the prompt. */
  errorType: string | undefined;
  children: SpanDescription[];
}

/** Maximum number of keys of `trace` in a span, and maximum characters of a value. */
const MAX_KEYS = 64;
const LONGEST_VALUE = 4096;

/**
 * Describes the spans of a run: the request, with one child per attempt that was sent. If the run has called server
 * tools, the children of the request are the turns of the model, and those of a turn its attempts and its calls.
 *
 * @param now performance.now() of its end
 * @param contents attributes of the last attempt, or of the request if nothing was sent
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 */
export function describeSpans(
  run: ObservedRun,
  entry: LedgerEntry,
  now: number,
  contents: Attributes = {},
): SpanDescription {
  const clock = { now, zeroMs: Date.now() - now };
  const { calls = [] } = run.toolLoop ?? {};
  const last = listAttempts(run).at(-1);
  const wasSent = last?.dispatchedAt !== undefined;
  const turns = run.steps.map((step, number) => {
    const attempts = step.attempts.flatMap(
      (attempt) => describeAttempt(run, entry, attempt, clock, attempt === last ? contents : undefined) ?? [],
    );
    if (calls.length === 0) return attempts;
    return describeTurn(step, number, attempts, calls, clock);
  });
  const request = describeRequest(run, entry, clock);
  if (!wasSent) Object.assign(request.attributes, contents);
  return { ...request, children: turns.flat() };
}

/** Describes a turn of a model that has tools. */
function describeTurn(
  { attempts }: ObservedStep,
  number: number,
  sent: SpanDescription[],
  calls: readonly ObservedToolCall[],
  clock: Clock,
): SpanDescription[] {
  const children = [...sent, ...calls.filter(({ step }) => step === number).map((call) => describeCall(call, clock))];

  if (children.length === 0) return []; // it failed before anything was sent
  return [
    {
      name: `turn ${number + 1}`,
      kind: 'internal',
      startMs: Math.min(...children.map(({ startMs }) => startMs)),
      endMs: Math.max(...children.map(({ endMs }) => endMs)),
      errorType: attempts.at(-1)?.error?.errorType,
      attributes: { 'headgate.turn': number + 1, 'headgate.tool_calls': children.length - sent.length },
      children,
    },
  ];
}

/** Neither the arguments nor the result: both are content. */
function describeCall({ tool, step, startedAt, endedAt, outcome }: ObservedToolCall, clock: Clock): SpanDescription {
  const name = tool ?? 'none';
  const errorType = outcome === 'ok' ? undefined : outcome;
  return {
    name: `execute_tool ${name}`,
    kind: 'internal',
    startMs: clock.zeroMs + startedAt,
    endMs: clock.zeroMs + Math.min(endedAt, clock.now),
    errorType,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'headgate.turn': step + 1,
      ...(errorType !== undefined && { 'error.type': errorType }),
    },
    children: [],
  };
}

/**
 * One clock per run, so that its spans are consistent. `performance.timeOrigin` does not follow changes of the system
 * clock.
 */
interface Clock {
  /** performance.now() of the end. */
  now: number;
  /** Unix milliseconds of performance.now() 0. */
  zeroMs: number;
}

function kindOf({ apiType }: LedgerEntry): { route: string; operation: string } {
  switch (apiType) {
    case 'image':
      return { route: '/api/v1/images', operation: 'generate_content' };
    case 'embeddings':
      return { route: '/api/v1/embeddings', operation: 'embeddings' };
    case 'rerank':
      return { route: '/api/v1/rerank', operation: 'rerank' };
    case undefined:
      return { route: '/api/v1/responses', operation: 'chat' };
  }
}

function describeRequest(
  run: ObservedRun,
  entry: LedgerEntry,
  { now, zeroMs }: Clock,
): Omit<SpanDescription, 'children'> {
  const { origin, request } = run;
  const receivedAt = origin?.receivedAt ?? now;
  const { trace = {} } = request;
  const failed = entry.outcome === 'failed' ? (entry.errorType ?? 'internal') : undefined;
  const { route, operation } = kindOf(entry);
  return {
    name: textOf(trace['span_name']) ?? `POST ${route}`,
    kind: 'server',
    startMs: zeroMs + receivedAt,
    endMs: zeroMs + now,
    errorType: failed,
    attributes: {
      'http.request.method': 'POST',
      'http.route': route,
      'http.response.status_code': entry.status,
      'gen_ai.operation.name': operation,
      'gen_ai.request.model': entry.requestedModel,
      ...present({
        'gen_ai.response.model': entry.model,
        'gen_ai.conversation.id': request.session_id,
        'headgate.request_id': origin?.requestId,
        'headgate.router': entry.router,
        'headgate.parent_id': entry.parentId,
        'trace.name': textOf(trace['trace_name']),
        'user.id': run.endUser,
        'session.id': request.session_id,
        'error.type': failed,
      }),
      'headgate.generation_id': entry.id,
      'headgate.workspace_id': entry.workspaceId,
      'headgate.outcome': entry.outcome,
      'headgate.streamed': entry.streamed,
      'headgate.attempts': listAttempts(run).length,
      'headgate.queue_ms': origin ? origin.handledAt - origin.receivedAt : 0,
      'headgate.overhead_ms': now - receivedAt - sumUpstreamMs(run, now),
      ...describeMetadata(trace),
    },
  };
}

function describeAttempt(
  run: ObservedRun,
  entry: LedgerEntry,
  attempt: ObservedAttempt,
  { now, zeroMs }: Clock,
  /** Undefined: it is not the last attempt. */
  contents: Attributes | undefined,
): SpanDescription | undefined {
  const { endpoint, error, dispatchedAt, endedAt = now } = attempt;
  if (dispatchedAt === undefined) return undefined; // it failed before it was sent
  const { request } = run;
  const { operation } = kindOf(entry);
  return {
    name: textOf(request.trace?.['generation_name']) ?? `${operation} ${endpoint.upstreamModel}`,
    kind: 'client',
    children: [],
    startMs: zeroMs + dispatchedAt,
    endMs: zeroMs + Math.min(endedAt, now),
    errorType: error?.errorType,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': otelProviderNames[endpoint.provider.id] ?? endpoint.provider.id,
      // The attribute's name before 2025.
      'gen_ai.system': otelProviderNames[endpoint.provider.id] ?? endpoint.provider.id,
      'gen_ai.request.model': endpoint.upstreamModel,
      'headgate.model': endpoint.model,
      'headgate.provider': endpoint.provider.name,
      'http.response.status_code': attempt.status,
      ...present({
        'gen_ai.request.max_tokens': request.max_output_tokens,
        'gen_ai.request.temperature': request.temperature,
        'gen_ai.request.top_p': request.top_p,
        'gen_ai.conversation.id': request.session_id,
        'user.id': run.endUser,
        'session.id': request.session_id,
        'error.type': error?.errorType,
      }),
      ...(contents && { ...describeUsage(run, entry, attempt), ...contents }), // only once, so that sums of usage do not count it twice
    },
  };
}

function describeUsage(run: ObservedRun, entry: LedgerEntry, attempt: ObservedAttempt): Attributes {
  const { endpoint, finish, upstreamModel, dispatchedAt, firstOutputAt } = attempt;
  const isCommitted = run.steps.at(-1)?.committed === attempt;
  return {
    'gen_ai.response.id': run.responseId ?? entry.id,
    'gen_ai.usage.input_tokens': entry.inputTokens,
    'gen_ai.usage.output_tokens': entry.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': entry.cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': entry.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': entry.reasoningTokens,
    ...(finish?.reason && { 'gen_ai.response.finish_reasons': [finish.reason] }),
    ...(isCommitted && { 'gen_ai.response.model': upstreamModel ?? endpoint.upstreamModel }),
    ...(entry.priced && { 'headgate.cost_usd': Number(entry.costNanoUsd) / 1e9 }),
    ...(entry.estimated && { 'headgate.estimated': true }),
    ...(entry.streamed &&
      firstOutputAt !== undefined && {
        'gen_ai.response.time_to_first_chunk': (firstOutputAt - dispatchedAt!) / 1000, // this attempt was sent
      }),
  };
}

/** Keys of `trace` with a special meaning. The ids are also kept, because they may be texts. */
const named: ReadonlySet<string> = new Set(['trace_name', 'span_name', 'generation_name']);

function describeMetadata(trace: Record<string, unknown>): Attributes {
  const attributes: Attributes = {};
  for (const [key, value] of Object.entries(trace).slice(0, MAX_KEYS)) {
    if (named.has(key) || value === null || value === undefined) continue;
    const isPlain = typeof value === 'number' || typeof value === 'boolean';
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    attributes[`trace.metadata.${key.slice(0, 256)}`] = isPlain ? value : text.slice(0, LONGEST_VALUE);
  }
  return attributes;
}

function present(given: Record<string, string | number | null | undefined>): Attributes {
  const attributes: Attributes = {};
  for (const [key, value] of Object.entries(given)) {
    if (value !== null && value !== undefined && value !== '') attributes[key] = value;
  }
  return attributes;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined;
