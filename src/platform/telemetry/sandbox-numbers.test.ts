import { expect, it } from 'vitest';
import { SandboxNumbers } from './sandbox-numbers.ts';

it('counts the sandboxes of a driver', () => {
  const numbers = new SandboxNumbers();
  numbers.driver = 'bubblewrap';
  numbers.running = () => 2;
  numbers.started();
  numbers.started();
  numbers.ended(1500);
  numbers.failed('save');
  numbers.failed('save');
  numbers.failed('crash');
  const labels = { driver: 'bubblewrap' };
  const found = new Map(numbers.collect().map(({ name, samples }) => [name, samples]));
  expect(found.get('headgate_sandboxes_running')).toEqual([{ labels, value: 2 }]);
  expect(found.get('headgate_sandbox_starts_total')).toEqual([{ labels, value: 2 }]);
  expect(found.get('headgate_sandbox_seconds_total')).toEqual([{ labels, value: 1.5 }]);
  expect(found.get('headgate_sandbox_failures_total')).toEqual([
    { labels: { ...labels, reason: 'save' }, value: 2 },
    { labels: { ...labels, reason: 'crash' }, value: 1 },
  ]);
});

it('has no metrics of sandboxes without a driver', () => {
  expect(
    new SandboxNumbers()
      .collect()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('headgate_sandbox')),
  ).toEqual([]);
});
