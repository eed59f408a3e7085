/**
 * Measures Headgate against a parsing proxy, a bare proxy, nginx and a TypeScript peer, and prints one table.
 *
 *     npm run bench                                   about 20 minutes
 *     npm run bench -- --quick                        about 2
 *     npm run bench -- --phases json,sse --only headgate --rounds 10
 *     npm run bench -- --against <folder>/dist/cli.js --rounds 20 --processes 10
 *     npm run bench -- --out bench/results.md         writes the table as well
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measure, type Phase, phases } from './measure.ts';
import { killEverything, stopEverything } from './processes.ts';
import { cleanRig, prepareRig, RigError } from './rig.ts';
import { writeTable } from './table.ts';
import { listVariants, type Variant } from './variants.ts';

/** Maximum time of a run. A soak needs longer for its million requests, and each new process for its warm-up. */
const limitMs = { usual: 40 * 60_000, long: 90 * 60_000 };

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    phases: { type: 'string' },
    only: { type: 'string' },
    against: { type: 'string' },
    processes: { type: 'string' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});

let ending: Promise<never> | undefined;

process.on('exit', killEverything);
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(name, () => void end(130, `Ended by ${name}.`));
}

try {
  await main();
  await end(0);
} catch (error) {
  await end(1, error instanceof RigError ? error.message : error);
}

async function main(): Promise<void> {
  const chosenPhases = choose('phases', options.phases, phases) ?? phases.filter((phase) => phase !== 'soak');
  const rounds = readCount('rounds', options.rounds ?? (options.quick ? '1' : '3'));
  const processes = readCount('processes', options.processes ?? '1');
  limitTime(chosenPhases, processes);
  const variants = listVariants(options.against);
  const names = variants.map((variant) => variant.name);
  const quickNames = ['headgate'];
  const usualNames = variants.filter(({ named }) => !named).map((variant) => variant.name);
  const chosenNames = choose('only', options.only, names) ?? (options.quick ? quickNames : usualNames);
  await prepareRig();
  const { ready, skipped } = await prepareVariants(
    variants.filter(({ name }) => name === 'other' || chosenNames.includes(name)),
  );
  const plan = { variants: ready, phases: chosenPhases, rounds, processes, quick: options.quick };
  const samples = await measure(plan, (line) => {
    if (!ending) console.log(line);
  });
  samples.failures.unshift(...skipped);
  const table = writeTable(samples, ready);
  console.log(`\n${table}`);
  if (options.out !== undefined) writeFileSync(options.out, `${table}\n`);
}

async function prepareVariants(wanted: readonly Variant[]): Promise<{ ready: Variant[]; skipped: string[] }> {
  const ready: Variant[] = [];
  const skipped: string[] = [];
  for (const variant of wanted) {
    try {
      await variant.prepare();
      ready.push(variant);
    } catch (error) {
      if (!(error instanceof RigError)) throw error;
      console.log(`Skipping ${variant.name}: ${error.message}`);
      skipped.push(`${variant.name}: ${error.message}`);
    }
  }
  return { ready, skipped };
}

/** Reads a comma-separated option. Undefined if absent. */
function choose<Name extends string>(
  option: string,
  value: string | undefined,
  known: readonly Name[],
): Name[] | undefined {
  if (value === undefined) return undefined;
  const chosen = known.filter((name) => value.split(',').includes(name));
  const unknown = value.split(',').filter((name) => !known.some((each) => each === name));
  if (unknown.length > 0) throw new RigError(`--${option} knows ${known.join(', ')}; not ${unknown.join(', ')}.`);
  return chosen;
}

function readCount(option: string, value: string): number {
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1) throw new RigError(`--${option} is a whole number from 1, not ${value}.`);
  return count;
}

function limitTime(chosen: readonly Phase[], processes: number): void {
  const ms = chosen.includes('soak') || processes > 1 ? limitMs.long : limitMs.usual;
  setTimeout(() => void end(1, `Stopped after ${ms / 60_000} minutes.`), ms).unref();
}

/** Ends all processes, deletes all files and exits. Only the first call has an effect. */
function end(code: number, message?: unknown): Promise<never> {
  ending ??= (async () => {
    if (message !== undefined) console.error(message);
    await stopEverything();
    cleanRig();
    process.exit(code);
  })();
  return ending;
}
