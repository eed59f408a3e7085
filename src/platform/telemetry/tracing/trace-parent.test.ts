import { describe, expect, it } from 'vitest';
import { isTraced, readTraceParent } from './trace-parent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('the header traceparent', () => {
  it('has the trace, the span and the sampling decision', () => {
    expect(readTraceParent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
    expect(readTraceParent(`00-${traceId}-${spanId}-00`)).toEqual({ traceId, spanId, isSampled: false });
    expect(readTraceParent(`cc-${traceId}-${spanId}-01-what-is-to-come`)).toMatchObject({ traceId, spanId });
  });

  it.each([
    ['nothing', undefined],
    ['an empty one', ''],
    ['another version of the same length', `ff-${traceId}-${spanId}-01`],
    ['more fields than its version has', `00-${traceId}-${spanId}-01-x`],
    ['zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a short span', `00-${traceId}-b7ad-01`],
    ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['two headers', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ])('is ignored if it is %s', (_, header) => {
    expect(readTraceParent(header)).toEqual({});
  });
});

describe('`trace` of the request', () => {
  const header = `00-${traceId}-${spanId}-01`;
  const other = 'ffffffffffffffffffffffffffffffff';

  it('wins over the header', () => {
    expect(readTraceParent(header, { trace_id: other })).toEqual({ traceId: other });
    expect(readTraceParent(header, { trace_id: other, parent_span_id: 'aaaaaaaaaaaaaaaa' })).toEqual({
      traceId: other,
      spanId: 'aaaaaaaaaaaaaaaa',
    });
    expect(readTraceParent(header, { parent_span_id: 'aaaaaaaaaaaaaaaa' })).toEqual({
      traceId,
      spanId: 'aaaaaaaaaaaaaaaa',
      isSampled: true,
    });
    expect(readTraceParent(header, { trace_id: traceId })).toEqual({ traceId, spanId, isSampled: true });
  });

  it('may be a UUID, or any text: the same text is always the same trace', () => {
    expect(readTraceParent(undefined, { trace_id: '0AF76519-16CD-43DD-8448-EB211C80319C' })).toEqual({ traceId });
    const { traceId: made } = readTraceParent(undefined, { trace_id: 'order 17' });
    expect(made).toMatch(/^[\da-f]{32}$/);
    expect(readTraceParent(undefined, { trace_id: 'order 17' })).toEqual({ traceId: made });
    expect(readTraceParent(undefined, { trace_id: 17, parent_span_id: '' })).toEqual({});
  });
});

describe('sampling', () => {
  const count = (share: number, ask: (at: number) => boolean) =>
    Array.from({ length: 2000 }, (_, at) => ask(at)).filter(Boolean).length / 2000 - share;

  it('samples a share of sessions, each completely or not at all', () => {
    expect(Math.abs(count(0.3, (at) => isTraced(0.3, `session ${at}`, {})))).toBeLessThan(0.05);
    const first = isTraced(0.5, 'one', {});
    for (let at = 0; at < 20; at++) expect(isTraced(0.5, 'one', { isSampled: at % 2 === 0 })).toBe(first);
  });

  it('without a session follows the decision of the parent, and otherwise samples traces', () => {
    expect(isTraced(0.01, undefined, { traceId, spanId, isSampled: true })).toBe(true);
    expect(isTraced(1, undefined, { traceId, spanId, isSampled: false })).toBe(false);
    expect(Math.abs(count(0.3, () => isTraced(0.3, undefined, {})))).toBeLessThan(0.05);
    expect(isTraced(0, 'one', { isSampled: true })).toBe(false);
    expect(isTraced(1, undefined, {})).toBe(true);
  });
});
