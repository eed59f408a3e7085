/**
 * Runs Headgate under `--cpu-prof` for one phase and prints the most expensive functions.
 *
 *     node bench/cpu-profile.ts --phase json               json, json50, sse, paced or steps
 *     node bench/cpu-profile.ts --phase sse --seconds 10 --variant headgate-responses --top 60
 *     node bench/cpu-profile.ts --by total                 sorted with what each function calls
 *
 * Shares refer to the busy time of the gateway within the measured window, without start and warm-up. *Self* is the
 * function's own time. *Total* includes the functions it calls.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { killEverything, stopEverything } from './processes.ts';
import {
  cleanRig,
  prepareRig,
  projectFolder,
  RigError,
  runFolder,
  runLoad,
  startGateway,
  startMock,
  stopGateway,
} from './rig.ts';
import { shapes as ratioShapes } from './rounds.ts';
import { listVariants } from './variants.ts';

interface CallFrame {
  functionName: string;
  url: string;
  /** Counted from 0, like the column. */
  lineNumber: number;
  columnNumber: number;
}

/** The output of `--cpu-prof`. Times in µs of the monotonic clock, like `process.hrtime`. */
interface Profile {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

/** The source map of each compiled file. */
const maps = new Map<string, SourceMap | undefined>();

interface Cost {
  selfMicroseconds: number;
  totalMicroseconds: number;
  /** Caller → self time of calls from there. */
  callers: Map<string, number>;
}

const warmUpSeconds = 4;

/** The loads that can be profiled: those of the phases with ratios, and runs of five steps. */
const shapes = { ...ratioShapes, steps: { ...ratioShapes.json, size: '5steps', connections: 16 } } as const;
type ProfiledPhase = keyof typeof shapes;

const { values: options } = parseArgs({
  options: {
    phase: { type: 'string', default: 'json' },
    variant: { type: 'string', default: 'headgate' },
    seconds: { type: 'string', default: '6' },
    top: { type: 'string', default: '40' },
    by: { type: 'string', default: 'self' },
  },
});

process.on('exit', () => {
  killEverything();
  cleanRig();
});
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => process.exit(130));

try {
  await main();
} catch (error) {
  console.error(error instanceof RigError ? error.message : error);
  process.exitCode = 1;
}
await stopEverything();
process.exit();

async function main(): Promise<void> {
  const phase = readPhase(options.phase);
  const variants = listVariants();
  const variant = variants.find((each) => each.name === options.variant);
  if (!variant) throw new RigError(`--variant is one of ${variants.map((each) => each.name).join(', ')}.`);
  await prepareRig();
  await variant.prepare();
  const folder = join(runFolder, 'profiles');
  mkdirSync(folder);
  const mock = await startMock();
  const nodeArguments = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=250'];
  const { settleSeconds: _, pace, ...shape } = shapes[phase];
  const gateway = await startGateway(variant, mock.ports[pace], nodeArguments);
  const startedAt = readMonotonicMicroseconds();
  const seconds = Number(options.seconds);
  const result = await runLoad(gateway, { ...shape, warmUpSeconds, seconds }, mock);
  await stopGateway(gateway, 30_000); // it writes its profile on exit
  const from = startedAt + warmUpSeconds * 1e6;
  const files = readdirSync(folder);
  if (files.length === 0) throw new RigError('There is no profile, because the gateway did not exit on SIGTERM.');
  const cost = shape.stream ? `${result.cpu_us_event} µs per event` : `${result.cpu_us_req} µs per request`;
  console.log(`${variant.title}, ${phase}: ${cost} while profiled, ${result.rps} requests/s`);
  for (const file of files) {
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile; // the format of `--cpu-prof`
    printCosts(readCosts(profile, from, from + seconds * 1e6), Number(options.top));
  }
}

function readPhase(text: string): ProfiledPhase {
  const phase = (Object.keys(shapes) as ProfiledPhase[]).find((each) => each === text);
  if (!phase) throw new RigError(`--phase is one of ${Object.keys(shapes).join(', ')}.`);
  return phase;
}

function readMonotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** Sums the cost of each function between two times. */
function readCosts(profile: Profile, from: number, until: number): Map<string, Cost> {
  const selfOf = new Map<number, number>();
  let at = profile.startTime;
  profile.samples.forEach((id, index) => {
    const delta = profile.timeDeltas[index] ?? 0;
    at += delta;
    if (at >= from && at < until) selfOf.set(id, (selfOf.get(id) ?? 0) + delta);
  });
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const costs = new Map<string, Cost>();
  /** @returns the time of the node and all below it */
  const visit = (id: number, path: readonly string[]): number => {
    const node = nodes.get(id)!;
    const name = writeName(node.callFrame);
    const self = selfOf.get(id) ?? 0;
    const cost = costs.get(name) ?? { selfMicroseconds: 0, totalMicroseconds: 0, callers: new Map() };
    costs.set(name, cost);
    const inner = [...path, name];
    const total = (node.children ?? []).reduce((sum, child) => sum + visit(child, inner), self);
    cost.selfMicroseconds += self;
    if (!path.includes(name)) cost.totalMicroseconds += total; // a recursive call is part of the outer one
    const caller = path.at(-1);
    if (caller !== undefined) cost.callers.set(caller, (cost.callers.get(caller) ?? 0) + self);
    return total;
  };
  visit(profile.nodes[0]!.id, []);
  return costs;
}

/** `name file:line`. The file is relative to the project or to its package. In a bundle it is the source. */
function writeName({ functionName, url, lineNumber, columnNumber }: CallFrame): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const [path, line] = findSource(url.replace('file://', ''), lineNumber, columnNumber);
  const inPackage = path.lastIndexOf('node_modules/');
  const shown = inPackage >= 0 ? path.slice(inPackage + 'node_modules/'.length) : path.replace(projectFolder, '');
  return `${name} ${shown.replace(/^\/+/, '')}:${line + 1}`;
}

/** @returns file and line of the source, both counted from 0; those of the compiled file if it has no map */
function findSource(file: string, line: number, column: number): [file: string, line: number] {
  if (!maps.has(file)) {
    const path = `${file}.map`;
    maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined);
  }
  const entry = maps.get(file)?.findEntry(line, column);
  return entry && 'originalSource' in entry
    ? [join(dirname(file), entry.originalSource), entry.originalLine]
    : [file, line];
}

/** Returns the owner of a function: `src/http`, `undici`, `node:internal` … */
function findArea(name: string): string {
  const place = / (\S+):\d+$/.exec(name)?.[1];
  if (place === undefined) return name.startsWith('(') ? name : 'native functions';
  if (place.startsWith('node:')) return 'node';
  const parts = place.split('/');
  return parts.slice(0, 2).join('/');
}

function printCosts(costs: ReadonlyMap<string, Cost>, top: number): void {
  const outside = new Set(['(root)', '(idle)']);
  const busy = [...costs].filter(([name]) => !outside.has(name));
  const busyMicroseconds = busy.reduce((sum, [, cost]) => sum + cost.selfMicroseconds, 0);
  if (busyMicroseconds === 0) return; // a thread that was idle in the window
  const share = (microseconds: number) => `${((100 * microseconds) / busyMicroseconds).toFixed(1)}%`.padStart(6);
  const areas = Map.groupBy(busy, ([name]) => findArea(name));
  const byArea = [...areas].map(([area, members]) => ({
    area,
    self: members.reduce((sum, [, cost]) => sum + cost.selfMicroseconds, 0),
  }));
  console.log('\n  self  area');
  for (const { area, self } of byArea.toSorted((a, b) => b.self - a.self).slice(0, 25)) {
    if (self > busyMicroseconds / 1_000) console.log(`${share(self)}  ${area}`);
  }
  console.log('\n  self   total  function (and its main caller)');
  const key = options.by === 'total' ? 'totalMicroseconds' : 'selfMicroseconds';
  const sorted = busy.toSorted(([, a], [, b]) => b[key] - a[key]);
  for (const [name, cost] of sorted.slice(0, top)) {
    const caller = [...cost.callers].toSorted(([, a], [, b]) => b - a)[0]?.[0];
    const from = caller && caller !== '(root)' ? `  ← ${caller}` : '';
    console.log(`${share(cost.selfMicroseconds)}  ${share(cost.totalMicroseconds)}  ${name}${from}`);
  }
}
