import { changeBudgets } from '../management/budgets/change-budgets.ts';
import { listBudgets } from '../management/budgets/find-budget.ts';
import { checkPutBudget } from '../management/budgets/schema.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { type BudgetInterval, budgetIntervals } from '../platform/storage/ports/budgets.ts';
import { usageColumns, writeUsageCells } from './limit-usage.ts';
import { operate, operator } from './operate.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { drawTable } from './table.ts';
import { CommandError, type Terminal } from './terminal.ts';

export interface BudgetOptions {
  /** `monthly=100`. */
  set?: string[];
  remove?: string[];
  includeByok?: boolean;
}

/** Applies all changes or none, then prints the budgets and their usage, the longest interval first. */
export async function changeWorkspaceBudgets(
  terminal: Terminal,
  config: Config,
  wanted: string,
  { set = [], remove = [], includeByok }: BudgetOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  const settings = set.map(readBudget);
  const removals = remove.map(readInterval);
  const twice = settings.find(({ interval }, at) => settings.slice(0, at).some((other) => other.interval === interval));
  if (twice) throw new CommandError(`--set ${twice.interval}: give each interval once.`);
  const { budgets, workspace } = await operate({ config, stderr }, async (parts) => {
    const { id } = await resolveWorkspace(parts.management, wanted);
    if (settings.length + removals.length > 0 || includeByok !== undefined) {
      const put = settings.map(({ interval, dollars }) => ({
        interval,
        limitUsd: checkPutBudget({ limit_usd: dollars }).limit_usd,
      }));
      await changeBudgets(parts, operator, id, { remove: removals, put, includeByok });
    }
    return listBudgets(parts, id);
  });
  if (budgets.length === 0) {
    stderr.write(`"${workspace.name}" has no budget.\n`);
    return;
  }
  const rows = budgets.map(({ budget, usage }) => [
    budget.interval,
    ...writeUsageCells(budget.limitNanoUsd, usage, currentTimeMs()),
  ]);
  stdout.write(drawTable(terminal, [{ title: 'INTERVAL' }, ...usageColumns], rows));
  const { includeByokInBudgets } = workspace.settings;
  stderr.write(`BYOK costs ${includeByokInBudgets ? 'count' : 'do not count'}.\n`);
}

function readBudget(text: string): { interval: BudgetInterval; dollars: number } {
  const [interval = '', dollars = ''] = text.split('=');
  if (!/^\d+(\.\d{1,9})?$/.test(dollars)) {
    throw new CommandError(`--set ${text}: give an interval and a sum in USD, like monthly=100.`);
  }
  return { interval: readInterval(interval), dollars: Number(dollars) };
}

function readInterval(text: string): BudgetInterval {
  const found = budgetIntervals.find((interval) => interval === text);
  if (!found) throw new CommandError(`"${text}" is not one of ${budgetIntervals.toReversed().join(', ')}.`);
  return found;
}
