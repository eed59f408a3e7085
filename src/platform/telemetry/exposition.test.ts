import { describe, expect, it } from 'vitest';
import { type MetricFamily, writeExposition } from './exposition.ts';
import { Histogram } from './histogram.ts';

describe('the text', () => {
  it('names help and type, and escapes what labels hold', () => {
    const samples: MetricFamily['samples'] = [
      { labels: { model: 'a "b"\\c\nd' }, value: 3 },
      { labels: {}, value: 0.5 },
    ];
    expect(writeExposition([{ name: 'x_total', help: 'Two\nlines.', type: 'counter', samples }])).toBe(
      '# HELP x_total Two\\nlines.\n# TYPE x_total counter\nx_total{model="a \\"b\\"\\\\c\\nd"} 3\nx_total 0.5\n',
    );
  });

  it('adds up the buckets of a histogram', () => {
    const value = new Histogram();
    for (const seconds of [0.0001, 0.003, 0.004, 7, 10_000, -1]) value.observe(seconds);
    const text = writeExposition([
      { name: 'h', help: 'H.', type: 'histogram', samples: [{ labels: { a: 'b' }, value }] },
    ]);
    expect(text).toContain('h_bucket{a="b",le="0.0001"} 2\n'); // a bound belongs to its bucket, and less than nothing is nothing
    expect(text).toContain('h_bucket{a="b",le="0.0025"} 2\n');
    expect(text).toContain('h_bucket{a="b",le="0.005"} 4\n');
    expect(text).toContain('h_bucket{a="b",le="10"} 5\n');
    expect(text).toContain('h_bucket{a="b",le="600"} 5\n');
    expect(text).toContain('h_bucket{a="b",le="+Inf"} 6\nh_sum{a="b"} 10007.0071\nh_count{a="b"} 6\n');
  });
});
