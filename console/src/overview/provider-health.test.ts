import { expect, it } from 'vitest';
import type { Attempt } from '../api/types.ts';
import { readHealth } from './provider-health.ts';

const attempt = (provider_name: string, status: number, first_byte_ms: number | null = null) =>
  ({ provider_name, status, first_byte_ms, error_message: `status ${status}` }) as Attempt;
const entry = (id: string, ...attempts: Attempt[]) => ({ id, created_at: '2026-11-30T12:00:00Z', attempts });

it('counts attempts by provider, and keeps the last failure', () => {
  const health = readHealth([
    entry('a', attempt('Acme', 529), attempt('Bolt', 200, 300)),
    entry('b', attempt('Acme', 503), attempt('Bolt', 200, 100)),
    entry('c', attempt('Bolt', 400), attempt('Bolt', 200, 200)),
  ]);
  expect(health.map(({ name, attempts, failed, tone, firstMs }) => [name, attempts, failed, tone, firstMs])).toEqual([
    ['Acme', 2, 2, 'bad', null],
    ['Bolt', 4, 0, 'good', 200],
  ]);
  expect(health.map(({ succeeded }) => succeeded)).toEqual([0, 3]);
  expect(health[0]!.lastError).toMatchObject({ id: 'a', status: 529 });
});
