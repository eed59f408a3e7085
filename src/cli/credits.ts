import { readTotalSpending } from '../management/credits/read-total-spending.ts';
import { listChanges } from '../management/list-changes.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { formatUsd } from '../domain/format-usd.ts';
import { createTimedId } from '../domain/ids.ts';
import { usdOf } from '../metering/cost.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { readDollars } from './change-keys.ts';
import { readStore, withStore } from './open-store.ts';
import { byOperator } from './operate.ts';
import { CommandError, type Terminal } from './terminal.ts';

/**
 * Adds to what the organization may spend in all. The first payment turns credits on.
 *
 * @param sum USD; below zero it is taken back
 * @throws {CommandError} when it is no sum, or there is nothing to take back from
 */
export async function addCredits(
  { stdout, stderr }: Terminal,
  config: Config,
  sum: string,
  { note = null }: { note?: string | null },
): Promise<void> {
  const isTakenBack = sum.startsWith('-');
  const nanoUsd = readDollars('credits add', isTakenBack ? sum.slice(1) : sum) * (isTakenBack ? -1n : 1n);
  if (nanoUsd === 0n) throw new CommandError(`credits add ${sum}: that is nothing.`);
  const { wasOn, ...after } = await withStore({ config, stderr }, async (storage) => {
    const wasOn = (await storage.management.readCredits()) !== null;
    if (isTakenBack && !wasOn) {
      throw new CommandError(`credits add ${sum}: credits are off, so there is nothing to take back.`);
    }
    await storage.management.change(byOperator(), async (transaction) => {
      const credit = { id: createTimedId('credit_'), atMs: currentTimeMs(), nanoUsd, note };
      await transaction.addCredit(credit);
      const changes = listChanges(undefined, { amount_usd: usdOf(nanoUsd), note });
      const [action, objectKind] = ['credits.add', 'credits'];
      await transaction.record({ action, objectKind, objectId: credit.id, workspaceId: null, changes });
    });
    return { wasOn, ...(await readBalance(storage)) };
  });
  const what = isTakenBack ? 'Took back' : 'Added';
  stdout.write(`${what} ${formatUsd(Math.abs(usdOf(nanoUsd)))}. ${describe(after)}\n`);
  if (!wasOn)
    stderr.write(
      'Credits are on now: every request must fit into what is left. "headgate credits off" turns them off.\n',
    );
  if (after.balance <= 0) stderr.write('Nothing is left to spend: requests get 402.\n');
}

/** Takes the bound away: requests are no longer held to what was paid in. The audit log keeps the sum. */
export async function removeCredits({ stdout, stderr }: Terminal, config: Config): Promise<void> {
  const before = await withStore({ config, stderr }, async (storage) => {
    const found = await readBalance(storage);
    if (!found.isOn) return found;
    await storage.management.change(byOperator(), async (transaction) => {
      await transaction.deleteCredits();
      const changes = listChanges({ total_usd: found.credits }, undefined);
      await transaction.record({
        ...{ action: 'credits.off', objectKind: 'credits', objectId: 'credits', workspaceId: null, changes },
      });
    });
    return found;
  });
  stdout.write(
    before.isOn
      ? `Credits are off. Before: ${formatUsd(before.credits)} added, ${formatUsd(before.balance)} left.\n`
      : 'Credits are off already.\n',
  );
}

/** Prints what was paid in, what was spent of it and what is left. */
export async function showCredits(
  { stdout, stderr }: Terminal,
  config: Config,
  { json }: { json?: boolean },
): Promise<void> {
  const found = await readStore({ config, stderr }, readBalance);
  if (json) {
    const { isOn, credits, usage, balance } = found;
    const data = { total_credits: credits, total_usage: usage, balance: isOn ? balance : null };
    stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
    return;
  }
  stdout.write(`${describe(found)}\n`);
}

interface Balance {
  /** Was anything ever paid in? */
  isOn: boolean;
  /** USD. */
  credits: number;
  usage: number;
  balance: number;
}

async function readBalance({ management, ledger }: Storage): Promise<Balance> {
  const credits = await management.readCredits();
  const usage = await readTotalSpending(ledger);
  const sum = credits ?? 0n;
  return { isOn: credits !== null, credits: usdOf(sum), usage: usdOf(usage), balance: usdOf(sum - usage) };
}

const describe = ({ isOn, credits, usage, balance }: Balance): string =>
  isOn
    ? `Credits: ${formatUsd(credits)} added, ${formatUsd(usage)} spent, ${formatUsd(balance)} left.`
    : `Credits are off; ${formatUsd(usage)} spent.`;
