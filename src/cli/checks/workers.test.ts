import { expect, it } from 'vitest';
import { checkWorkers } from './machine.ts';

it.each([
  [1, 8, []],
  [0, 1, []],
  [0, 8, [{ status: 'ok', says: '8, on 8 cores' }]],
  [2, 8, [{ status: 'ok', says: '2, on 8 cores' }]],
  [9, 8, [{ status: 'warn', says: '9, on 8 cores', fix: expect.stringContaining('--workers auto') }]],
])('%i workers on %i cores', (workers, cores, findings) => {
  expect(checkWorkers({ server: { workers } as Parameters<typeof checkWorkers>[0]['server'] }, cores)).toMatchObject(
    findings,
  );
});
