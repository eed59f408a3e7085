import type { Config } from '../config/schema.ts';
import { formatUsd } from '../domain/format-usd.ts';
import { addCredits, turnCreditsOff } from '../management/credits/change-credits.ts';
import { type Balance, readBalance } from '../management/credits/read-balance.ts';
import { usdOf } from '../metering/cost.ts';
import { readDollars } from './limit-options.ts';
import { readStore } from './open-store.ts';
import { operate, operator } from './operate.ts';
import type { Terminal } from './terminal.ts';

/**
 * Adds to the sum that the organization may spend.
 *
 * @param sum USD; a negative sum withdraws credit
 * @throws {CommandError} if it is not a sum, or there is no credit to withdraw
 */
export async function changeCredits(
  { stdout, stderr }: Terminal,
  config: Config,
  sum: string,
  { note = null }: { note?: string | null },
): Promise<void> {
  const isTakenBack = sum.startsWith('-');
  const nanoUsd = readDollars('credits add', isTakenBack ? sum.slice(1) : sum) * (isTakenBack ? -1n : 1n);
  const { wasOn, balance } = await operate({ config, stderr }, (parts) =>
    addCredits(parts, operator, { nanoUsd, note }),
  );
  const what = isTakenBack ? 'Took back' : 'Added';
  stdout.write(`${what} ${formatUsd(Math.abs(usdOf(nanoUsd)))}. ${describe(balance)}\n`);
  if (!wasOn)
    stderr.write('Credits are on now: every request must fit into the rest. "headgate credits off" turns them off.\n');
  if (balance.credits <= balance.usage) stderr.write('Nothing is left to spend: requests get 402.\n');
}

export async function removeCredits({ stdout, stderr }: Terminal, config: Config): Promise<void> {
  const before = await operate({ config, stderr }, (parts) => turnCreditsOff(parts, operator));
  stdout.write(
    before.isOn
      ? `Credits are off. Before: ${formatUsd(usdOf(before.credits))} added, ${formatUsd(readRest(before))} left.\n`
      : 'Credits are off already.\n',
  );
}

/** Prints the added, spent and remaining credits. */
export async function showCredits(
  { stdout, stderr }: Terminal,
  config: Pick<Config, 'storage'>,
  { json }: { json?: boolean },
): Promise<void> {
  const balance = await readStore({ config, stderr }, readBalance);
  if (json) {
    const { isOn, credits, usage } = balance;
    const data = {
      total_credits: usdOf(credits),
      total_usage: usdOf(usage),
      balance: isOn ? readRest(balance) : null,
    };
    stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
    return;
  }
  stdout.write(`${describe(balance)}\n`);
}

/** USD; negative if more was spent than added. */
const readRest = ({ credits, usage }: Balance): number => usdOf(credits - usage);

const describe = (balance: Balance): string => {
  const spent = formatUsd(usdOf(balance.usage));
  if (!balance.isOn) return `Credits are off; ${spent} spent.`;
  return `Credits: ${formatUsd(usdOf(balance.credits))} added, ${spent} spent, ${formatUsd(readRest(balance))} left.`;
};
