import type { Command } from 'commander';
import type { ExportOptions } from '../export-ledger.ts';
import type { RecomputeOptions } from '../ledger.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import type { VerifyOptions } from '../verify-ledger.ts';
import type { CommandParts, SourceOptions } from './command-parts.ts';

/** Adds `headgate ledger`, `credits` and `budgets`. */
export function addSpendingCommands(program: Command, parts: CommandParts): void {
  const { addGroup, command, findStore, load, loadForStore, readConfig, terminal } = parts;
  const { add: addToLedger } = addGroup(
    program,
    'ledger',
    'price entries again after a price was corrected; show and export entries; verify sums',
    ledgerExamples,
  );
  addToLedger('recompute', 'price entries with current prices, and print the difference')
    .option('--since <date>', 'first day (UTC), or a time')
    .option('--until <date>', 'last day (UTC), or a time')
    .option('--model <slug>', 'only entries of this model')
    .option('--provider <id>', 'only entries of this provider')
    .option('--apply', 'record the difference as corrections; otherwise nothing changes')
    .action(async (options: SourceOptions & RecomputeOptions) => {
      const { recompute } = await import('../ledger.ts');
      await recompute(terminal, await load(options), options);
    });
  addToLedger('verify', 'compare the sums of reports with the ledger')
    .option('--since <date>', 'first day (UTC)')
    .option('--until <date>', 'last day (UTC)')
    .option('--repair', 'replace sums that differ')
    .option('--json', 'print JSON')
    .action(async (options: SourceOptions & VerifyOptions) => {
      const { verifyLedger } = await import('../verify-ledger.ts');
      await verifyLedger(terminal, await findStore(options), options);
    });
  addToLedger('clickhouse-table', 'print the statement that creates the table for exports to ClickHouse')
    .option('--table <name>', 'name of the table (that of the configuration)')
    .option('--old', 'for ClickHouse before 22.2')
    .action(async ({ table, old = false, ...options }: SourceOptions & { table?: string; old?: boolean }) => {
      const { writeTableStatement } = await import('../../exports/clickhouse/ledger-table.ts');
      const { config } = await loadForStore(options, ['ledger']);
      const name = table ?? config.ledger.clickhouse?.table ?? 'headgate_ledger';
      terminal.stdout.write(`${writeTableStatement(name, !old)}\n`);
    });
  addToLedger('export', 'write the entries and corrections of a range of time')
    .requiredOption('--from <date>', 'first day (UTC), or a time')
    .requiredOption('--to <date>', 'last day (UTC), or a time')
    .option('--workspace <name>', 'name, slug or id of a workspace (all)')
    .option('--format <format>', 'format of the rows: jsonl or parquet', 'jsonl')
    .option('--output <file>', 'file, or - for the standard output', '-')
    .option('--archived', 'include days that are only in the store of files')
    .action(async (options: SourceOptions & ExportOptions) => {
      const { exportLedger } = await import('../export-ledger.ts');
      const { config } = await loadForStore(options, ...(options.archived ? [['files']] : []));
      await exportLedger(terminal, config, options);
    });
  addToLedger('show', 'print an entry with its corrections')
    .argument('<id>', 'generation id: gen-…')
    .option(...jsonOption)
    .action(async (id: string, options: SourceOptions & JsonOption) => {
      const { showEntry } = await import('../ledger.ts');
      await showEntry(terminal, await findStore(options), id, options);
    });

  const { add: addToCredits } = addGroup(
    program,
    'credits',
    'the total that the organization may spend; off until some are added',
    creditsExamples,
  );
  addToCredits('add', 'add credits; the first ones turn them on')
    .argument('<usd>', 'sum, like 25 or 0.50; "-- -5" takes five back')
    .option('--note <text>', 'note for the audit log')
    .action(async (sum: string, options: SourceOptions & { note?: string }) => {
      const { changeCredits } = await import('../credits.ts');
      await changeCredits(terminal, await readConfig(options), sum, options);
    });
  addToCredits('off', 'turn credits off: they no longer limit spending').action(async (options: SourceOptions) => {
    const { removeCredits } = await import('../credits.ts');
    await removeCredits(terminal, await readConfig(options));
  });
  addToCredits('show', 'print what was added, what was spent and what is left')
    .option('--json', 'print JSON')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { showCredits } = await import('../credits.ts');
      await showCredits(terminal, await findStore(options), options);
    });

  command(program, 'budgets', 'list all spending limits, their usage and what is left', budgetsExamples)
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { printBudgets } = await import('../budgets.ts');
      await printBudgets(terminal, (await loadForStore(options, ['budgets'])).config, options);
    });
}

const ledgerExamples = `
Examples:
  $ headgate ledger recompute --since 2026-11-01
  $ headgate ledger recompute --since 2026-11-01 --until 2026-11-14 --model openai/gpt-5-mini --apply
  $ headgate ledger clickhouse-table | clickhouse-client
  $ headgate ledger export --from 2026-11-01 --to 2026-11-30 --format parquet --output november.parquet
  $ headgate ledger show gen-06ZV7Q0D3RPGK4M2T9XWYB1CEH

In SQLite "recompute --apply" works while the gateway is stopped, in PostgreSQL also while it runs.`;

const creditsExamples = `
Examples:
  $ headgate credits add 100 --note "invoice 7"
  $ headgate credits show
  $ headgate credits off

A running gateway takes them over within a second. What was spent before counts as well.`;

const budgetsExamples = `
Examples:
  $ headgate budgets
  $ headgate budgets --json

Budgets are set in the configuration (budgets), by "headgate workspaces budgets", "guardrails", "keys" and "credits".`;
