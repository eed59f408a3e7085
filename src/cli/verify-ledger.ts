import type { Config } from '../config/schema.ts';
import { readStore } from './open-store.ts';
import { CommandError, type Terminal } from './terminal.ts';
import { readTimeOption } from './time-option.ts';

const DAY_MS = 86_400_000;

export interface VerifyOptions {
  /** A date or a time. Days are compared as a whole. */
  since?: string;
  until?: string;
  /** Replaces sums that differ. */
  repair?: boolean;
  json?: boolean;
}

/**
 * Compares the sums of reports with the ledger, day by day (UTC), and prints the days that differ. Other processes can
 * record requests meanwhile.
 *
 * @throws {CommandError} if an option is invalid, or if sums differ and are not repaired
 */
export async function verifyLedger(
  { stdout, stderr }: Pick<Terminal, 'stdout' | 'stderr'>,
  config: Pick<Config, 'storage'>,
  { since, until, repair = false, json }: VerifyOptions,
): Promise<void> {
  const fromMs = since === undefined ? undefined : readTimeOption('--since', since).startMs;
  const toMs = until === undefined ? undefined : readTimeOption('--until', until).endMs;
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new CommandError(`--since ${since} is after --until ${until}.`);
  }
  const wrong: { date: string; sums: number }[] = [];
  let days = 0;
  await readStore({ config, stderr }, async ({ ledger }) => {
    const range = await ledger.readUsageDays();
    if (!range) return;
    const first = Math.max(range.firstMs, Math.floor((fromMs ?? 0) / DAY_MS) * DAY_MS);
    const end = Math.min(range.lastMs + DAY_MS, toMs ?? Number.POSITIVE_INFINITY);
    for (let day = first; day < end; day += DAY_MS, days++) {
      const sums = await ledger.verifyUsage(day, repair);
      if (sums > 0) wrong.push({ date: new Date(day).toISOString().slice(0, 10), sums });
    }
  });
  const result = { days, wrong, repaired: repair && wrong.length > 0 };
  if (json) stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  else {
    for (const { date, sums } of wrong) stdout.write(`${date}  ${count(sums, 'sum')} differed\n`);
    const end = wrong.length === 0 ? 'All sums equal the ledger.' : repair ? 'The sums were repaired.' : '';
    stdout.write(`Compared ${count(days, 'day')}. ${end}`.trimEnd().concat('\n'));
  }
  if (wrong.length > 0 && !repair) {
    throw new CommandError(`The sums of ${count(wrong.length, 'day')} differ from the ledger. --repair replaces them.`);
  }
}

const count = (number: number, name: string): string => `${number} ${name}${number === 1 ? '' : 's'}`;
