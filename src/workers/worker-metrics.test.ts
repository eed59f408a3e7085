import { expect, it } from 'vitest';
import { type MetricFamily, writeExposition } from '../platform/telemetry/exposition.ts';
import { WorkerMetrics } from './worker-metrics.ts';

const counted = (requests: number, open = 0): MetricFamily[] => [
  { name: 'headgate_http_requests_total', help: '', type: 'counter', samples: [{ labels: {}, value: requests }] },
  { name: 'headgate_open_requests', help: '', type: 'gauge', samples: [{ labels: {}, value: open }] },
];
const linesOf = (families: readonly MetricFamily[]) =>
  writeExposition(families)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

it('never decreases a counter: neither if a worker is unresponsive, nor if another one replaces it', () => {
  const numbers = new WorkerMetrics(2);
  const [first, second] = [numbers.begin(0), numbers.begin(1)];
  const look = (answers: (MetricFamily[] | undefined)[], restarts = 0) =>
    linesOf(
      numbers.join(
        [],
        answers.map((families, slot) => ({ slot, families })),
        restarts,
      ),
    );
  first.see(counted(5, 1));
  second.see(counted(7, 2));
  expect(look([counted(5, 1), counted(7, 2)])).toEqual([
    'headgate_http_requests_total 12',
    'headgate_open_requests 3',
    'headgate_worker_up{worker="0"} 1',
    'headgate_worker_up{worker="1"} 1',
    'headgate_worker_requests_total{worker="0"} 5',
    'headgate_worker_requests_total{worker="1"} 7',
    'headgate_worker_restarts_total 0',
  ]);

  first.see(counted(6, 1));
  second.see(counted(9)); // it reported that before it became unresponsive
  expect(look([counted(6, 1), undefined])).toEqual([
    'headgate_http_requests_total 15',
    'headgate_open_requests 1',
    'headgate_worker_up{worker="0"} 1',
    'headgate_worker_up{worker="1"} 0',
    'headgate_worker_requests_total{worker="0"} 6',
    'headgate_worker_requests_total{worker="1"} 9',
    'headgate_worker_restarts_total 0',
  ]);

  second.end();
  expect(look([counted(6)])).toContain('headgate_worker_up{worker="1"} 0');
  const third = numbers.begin(1);
  third.see(counted(1));
  const replaced = look([counted(6), counted(1)], 1);
  expect(replaced.slice(0, 2)).toEqual(['headgate_http_requests_total 16', 'headgate_open_requests 0']);
  expect(replaced.slice(-3)).toEqual([
    'headgate_worker_requests_total{worker="0"} 6',
    'headgate_worker_requests_total{worker="1"} 10',
    'headgate_worker_restarts_total 1',
  ]);
});

it('counts a worker once that ends while the others are still queried', () => {
  const numbers = new WorkerMetrics(1);
  const life = numbers.begin(0);
  life.see(counted(5));
  life.end();
  life.end();
  const late = [{ slot: 0, families: counted(5) }];
  expect(linesOf(numbers.join([], late, 0))[0]).toBe('headgate_http_requests_total 5');
  expect(linesOf(numbers.join([], [], 0))[0]).toBe('headgate_http_requests_total 5');
});
