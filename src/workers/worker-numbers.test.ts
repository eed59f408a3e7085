import { expect, it } from 'vitest';
import { type Family, writeText } from '../platform/telemetry/exposition.ts';
import { WorkerNumbers } from './worker-numbers.ts';

const counted = (requests: number, open = 0): Family[] => [
  { name: 'headgate_http_requests_total', help: '', type: 'counter', samples: [{ labels: {}, value: requests }] },
  { name: 'headgate_open_requests', help: '', type: 'gauge', samples: [{ labels: {}, value: open }] },
];
const linesOf = (families: readonly Family[]) =>
  writeText(families)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

it('never counts less than before: not when a worker is silent, nor when another one takes its place', () => {
  const numbers = new WorkerNumbers();
  const first = numbers.join(
    [],
    [
      { slot: 0, families: counted(5, 1) },
      { slot: 1, families: counted(7, 2) },
    ],
    0,
  );
  expect(linesOf(first)).toEqual([
    'headgate_http_requests_total 12',
    'headgate_open_requests 3',
    'headgate_worker_up{worker="0"} 1',
    'headgate_worker_up{worker="1"} 1',
    'headgate_worker_requests_total{worker="0"} 5',
    'headgate_worker_requests_total{worker="1"} 7',
    'headgate_worker_restarts_total 0',
  ]);

  const second = numbers.join(
    [],
    [
      { slot: 0, families: counted(6, 1) },
      { slot: 1, families: undefined },
    ],
    0,
  );
  expect(linesOf(second)).toEqual([
    'headgate_http_requests_total 13',
    'headgate_open_requests 1',
    'headgate_worker_up{worker="0"} 1',
    'headgate_worker_up{worker="1"} 0',
    'headgate_worker_requests_total{worker="0"} 6',
    'headgate_worker_restarts_total 0',
  ]);

  numbers.end(1);
  const third = numbers.join(
    [],
    [
      { slot: 0, families: counted(6) },
      { slot: 1, families: counted(1) },
    ],
    1,
  );
  expect(linesOf(third).slice(0, 2)).toEqual(['headgate_http_requests_total 14', 'headgate_open_requests 0']);
  expect(linesOf(third).at(-1)).toBe('headgate_worker_restarts_total 1');
});
