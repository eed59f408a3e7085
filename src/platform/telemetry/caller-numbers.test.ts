import { expect, it } from 'vitest';
import type { Caller } from '../../domain/caller.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import { CallerNumbers } from './caller-numbers.ts';

const caller = (keyHash: string, workspaceId = 'w'): Caller => ({
  keyHash,
  keyName: `name of ${keyHash}`,
  kind: 'organization',
  workspaceId,
  workspaceName: `name of ${workspaceId}`,
  memberId: null,
});
const entry = { inputTokens: 3, outputTokens: 2, costNanoUsd: 1_000_000_000n } as LedgerEntry; // all that is counted

it('bounds the number of labels, whatever the number of keys', () => {
  const numbers = new CallerNumbers('key');
  for (let at = 0; at < 1100; at++) numbers.count(caller(`key ${at}`), entry, '2xx');
  for (const { samples } of numbers.collect()) {
    const others = samples.filter(({ labels }) => labels['key_name'] === 'other');
    expect(new Set(samples.map(({ labels }) => labels['key_name'])).size).toBe(1001);
    expect(others.length).toBeGreaterThan(0);
  }
  const costs = numbers.collect().at(-1)!.samples;
  expect(costs.reduce((sum, { value }) => sum + Number(value), 0)).toBe(1100);
  expect(costs.at(-1)).toEqual({
    labels: { workspace: 'other', workspace_name: 'other', key_hash: 'other', key_name: 'other' },
    value: 100,
  });
});

it('joins the keys of a workspace, and counts a request of the gateway itself in cost and tokens alone', () => {
  const numbers = new CallerNumbers('workspace');
  numbers.count(caller('a'), entry, '2xx');
  numbers.count(caller('b'), entry, undefined);
  const labels = { workspace: 'w', workspace_name: 'name of w' };
  expect(numbers.collect().map(({ samples }) => samples)).toEqual([
    [{ labels: { ...labels, status: '2xx' }, value: 1 }],
    [
      { labels: { ...labels, kind: 'input' }, value: 6 },
      { labels: { ...labels, kind: 'output' }, value: 4 },
    ],
    [{ labels, value: 2 }],
  ]);
});

it('has no metrics if they are turned off', () => {
  const numbers = new CallerNumbers('none');
  numbers.count(caller('a'), entry, '2xx');
  expect(numbers.collect()).toEqual([]);
});
