import { createHash } from 'node:crypto';
import { fractionOf } from '../../../domain/fraction.ts';

/** The parent of a request's span. */
export interface TraceParent {
  /** 32 lower-case hexadecimal digits. Undefined: a new trace. */
  traceId?: string;
  /** 16 lower-case hexadecimal digits. Undefined: the first span of its trace. */
  spanId?: string;
  /** The decision of the parent. Undefined: the parent made none. */
  isSampled?: boolean;
}

/**
 * Reads the header `traceparent`, and `trace.trace_id` and `trace.parent_span_id` of the request, which take
 * precedence. An id that is not a hexadecimal number is hashed, so that the same text always has the same id.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function readTraceParent(header: string | undefined, trace: Record<string, unknown> = {}): TraceParent {
  const sent = readHeader(header);
  const traceId = readId(trace['trace_id'], 32);
  const spanId = readId(trace['parent_span_id'], 16);
  if (traceId === undefined || traceId === sent.traceId) return spanId === undefined ? sent : { ...sent, spanId };
  return spanId === undefined ? { traceId } : { traceId, spanId };
}

function readHeader(header = ''): TraceParent {
  const [, version, traceId, spanId, flags, rest] = shape.exec(header.trim()) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return {};
  if (version === 'ff' || (version === '00' && rest !== undefined)) return {};
  if (isZero(traceId) || isZero(spanId)) return {};
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const shape = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const isZero = (digits: string): boolean => /^0+$/.test(digits);

function readId(given: unknown, digits: number): string | undefined {
  if (typeof given !== 'string' || given === '') return undefined;
  const bare = given.replaceAll('-', '').toLowerCase(); // a UUID is 32 digits
  if (bare.length === digits && /^[\da-f]+$/.test(bare) && !isZero(bare)) return bare;
  return createHash('sha256').update(given).digest('hex').slice(0, digits);
}

/** Whether the request is sampled. A session is traced completely or not at all, and so is a trace. */
export function isTraced(share: number, sessionId: string | undefined, parent: TraceParent): boolean {
  if (share === 0) return false;
  if (sessionId !== undefined) return share === 1 || fractionOf(sessionId) < share;
  if (parent.isSampled !== undefined) return parent.isSampled;
  if (share === 1) return true;
  return (parent.traceId === undefined ? Math.random() : fractionOf(parent.traceId)) < share;
}
