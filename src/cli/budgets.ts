import { writeLimitUsage } from '../management/write-limit-usage.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { usdOf } from '../metering/cost.ts';
import { listSpendingLimits } from '../metering/list-limits.ts';
import { readLimitUsage } from '../metering/read-limit-usage.ts';
import type { SpendingLimit } from '../metering/spending.ts';
import { budgetIntervals } from '../platform/storage/ports/budgets.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import type { SpendingScope } from '../platform/storage/ports/spending.ts';
import { readKeyState } from './resolve-key.ts';
import { usageColumns, writeUsageCells } from './limit-usage.ts';
import { readStore } from './open-store.ts';
import { drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** The place of a limit by its kind, the broadest first. */
const places: Record<SpendingLimit['kind'], string> = {
  credits: 'credits',
  organization: 'budgets.organization',
  workspace: 'budget of the workspace',
  tag: 'budgets.tags',
  member: 'budgets.member',
  guardrail: 'guardrail',
  key: 'limit of the key',
};
const kinds = Object.keys(places);

/** Prints all spending limits and their usage, the broadest first: as a table, or as a JSON list. */
export async function printBudgets(terminal: Terminal, config: Config, { json }: { json?: boolean }): Promise<void> {
  const { stdout, stderr } = terminal;
  const { budgets } = config;
  const nowMs = currentTimeMs();
  const usages = await readStore({ config, stderr }, async ({ access, management, ledger }) => {
    const limits = (await listSpendingLimits({ access, management, budgets })).sort(compare);
    const usages = await readLimitUsage(ledger, limits, nowMs);
    const keys = new Map((await access.listKeys()).map((key) => [key.hash, key]));
    return limits.map((limit, at) => ({ limit, usage: usages[at]!, key: keys.get(readKeyHash(limit.scope) ?? '') }));
  });
  if (json) {
    const rows = usages.map(({ limit, usage, key }) => ({
      kind: limit.kind,
      name: limit.name,
      ...writeScope(limit.scope),
      key_label: key?.label ?? null,
      key_state: key ? readKeyState(key, nowMs) : null,
      guardrail_id: limit.guardrail?.id ?? null,
      limit_usd: usdOf(limit.limitNanoUsd),
      reset_interval: limit.window === 'lifetime' ? null : limit.window,
      include_byok: limit.includesByok,
      ...writeLimitUsage(usage),
    }));
    stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  if (usages.length === 0) {
    stdout.write('No spending limit is set.\n');
    return;
  }
  const rows = usages.map(({ limit, usage, key }) => [
    key ? `${limit.name} ${distinguish(key, nowMs)}` : limit.name,
    limit.guardrail?.title ?? places[limit.kind],
    limit.window,
    ...writeUsageCells(limit.limitNanoUsd, usage, nowMs),
  ]);
  const columns = [
    { title: 'SCOPE', canWrap: true },
    { title: 'SET BY', canWrap: true },
    { title: 'INTERVAL' },
    ...usageColumns,
  ];
  stdout.write(drawTable(terminal, columns, rows));
}

/** Distinguishes a key from its replacement, which has the same name. */
function distinguish(key: KeyRecord, nowMs: number): string {
  const state = readKeyState(key, nowMs);
  return `(${key.label}${state === 'active' ? '' : `, ${state}`})`;
}

const readKeyHash = (scope: SpendingScope): string | null =>
  scope !== 'everything' && 'keyHash' in scope ? scope.keyHash : null;

const writeScope = (scope: SpendingScope): Record<string, string | null> => ({
  workspace_id: scope !== 'everything' && 'workspaceId' in scope ? scope.workspaceId : null,
  user_id: scope !== 'everything' && 'memberId' in scope ? scope.memberId : null,
  tag: scope !== 'everything' && 'tag' in scope ? scope.tag : null,
  key_hash: readKeyHash(scope),
});

/** Sorts by kind, name and window, the longest window first. */
function compare(a: SpendingLimit, b: SpendingLimit): number {
  return (
    kinds.indexOf(a.kind) - kinds.indexOf(b.kind) ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) ||
    budgetIntervals.indexOf(a.window) - budgetIntervals.indexOf(b.window)
  );
}
