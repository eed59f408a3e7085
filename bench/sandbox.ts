/**
 * Measures sandboxes of bubblewrap: starts, commands and stops one after another, then the latency of requests to a
 * gateway in the same process while a fork bomb, a memory bomb, a full disk, small files without end and a flood of output
 * run in five sandboxes.
 *
 *     node bench/sandbox.ts                 100 starts, 10 s of requests for each latency
 *     node bench/sandbox.ts --starts 20 --seconds 5
 *     node bench/sandbox.ts --starts 0 --rounds 3 --attacks 'fork bomb,disk fill'
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { createBubblewrap } from '../src/compose/create-bubblewrap.ts';
import { loadConfig } from '../src/config/load.ts';
import type { Sandbox, SandboxLimits } from '../src/platform/sandbox/sandbox.ts';
import { testGateway } from '../src/testing/test-gateway.ts';

const { values: options } = parseArgs({
  options: {
    starts: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '1' },
    attacks: { type: 'string' },
  },
});
const MIB = 2 ** 20;
const limits: SandboxLimits = {
  memoryBytes: 512 * MIB,
  cpus: 1,
  processes: 256,
  diskBytes: 256 * MIB,
  diskEntries: 20_000,
  temporaryBytes: 64 * MIB,
};

const dataDir = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const { config } = loadConfig({ file: null, env: {}, cwd: dataDir, flags: { data: dataDir } });
const driver = createBubblewrap({ config, dataDir });
const problem = await driver.probe();
if (problem !== undefined) throw new Error(problem);

const { signal } = new AbortController();
let count = 0;
const start = (own: Partial<SandboxLimits> = {}): Promise<Sandbox> =>
  driver.start({ name: `bench-${count++}`, limits: { ...limits, ...own } });
const run = (sandbox: Sandbox, command: string, timeoutMs = 60_000) =>
  sandbox.exec({ command, timeoutMs, maxOutputBytes: 65_536, signal });

const times: Record<'start' | 'command' | 'list' | 'stop', number[]> = { start: [], command: [], list: [], stop: [] };
async function measure<T>(name: keyof typeof times, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  times[name].push(performance.now() - startedMs);
  return result;
}
const describe = (sorted: number[]): string => {
  const at = (part: number) => (sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, of ${sorted.length}`;
};

console.log(`load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`);
for (let round = 0; round < Number(options.starts); round++) {
  const sandbox = await measure('start', () => start());
  await measure('command', () => run(sandbox, 'true'));
  await measure('list', async () => {
    for await (const _ of sandbox.listFiles());
  });
  await measure('stop', () => sandbox.stop());
}
for (const [name, values] of Object.entries(times))
  console.log(`${name}: ${describe(values.toSorted((a, b) => a - b))}`);

const gateway = await testGateway();
/** A client in its own process: 20 requests per second. */
const client = `
const [url, key, seconds] = process.argv.slice(1);
const times = [];
const end = performance.now() + seconds * 1000;
while (performance.now() < end) {
  const startedMs = performance.now();
  const response = await fetch(url + '/api/v1/responses', { method: 'POST', headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json' }, body: '{"model":"simulator/echo","input":"hello"}' });
  await response.text();
  times.push(performance.now() - startedMs);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
process.stdout.write(JSON.stringify(times));`;
async function measureLatency(): Promise<number[]> {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '--eval', client, gateway.url, gateway.key, options.seconds],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const values = JSON.parse(await text(child.stdout)) as number[];
  return values.slice(5).toSorted((a, b) => a - b);
}

/** How long the thread of the gateway was ready to run, but had no CPU. */
const readWaitedMs = (): number => Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6;

/** Measures requests, and how long the event loop and the CPU of the gateway's process were busy. */
async function report(name: string): Promise<number[]> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const used = process.cpuUsage();
  const waitedMs = readWaitedMs();
  const latency = await measureLatency();
  const { system, user } = process.cpuUsage(used);
  const delay = (part: number) => (delays.percentile(part) / 1e6 - 1).toFixed(1);
  const waited = ((readWaitedMs() - waitedMs) / 10 / Number(options.seconds)).toFixed(1);
  const busy = ((system + user) / 1e4 / Number(options.seconds)).toFixed(0);
  console.log(
    `requests ${name}: ${describe(latency)}; event loop late: p99 ${delay(99)} ms, max ${delay(100)} ms; CPU ${busy} %, waited for one ${waited} %`,
  );
  return latency;
}

/** Commands that exhaust something, with their limits. */
const commands: Record<string, [command: string, own: Partial<SandboxLimits>]> = {
  'fork bomb': ['bomb() { bomb | bomb & }; bomb; sleep 5', { processes: 256 }],
  'memory bomb': [`perl -e 'my @a; push @a, "x" x 1_000_000 while 1'`, { memoryBytes: 256 * MIB }],
  'disk fill': ['for i in $(seq 100000); do head -c 1000000 /dev/zero >f$i; done', {}],
  'small files': ['for ((i = 0; ; i++)); do : >f$i; done', {}],
  'output flood': ['yes & cat /dev/zero >&2', {}],
  'endless loop': ['while :; do :; done', {}],
};
const names = options.attacks?.split(',') ?? ['fork bomb', 'memory bomb', 'disk fill', 'small files', 'output flood'];

/** Repeats an attack, in a new sandbox whenever one ends. */
async function attack(name: string, over: AbortSignal): Promise<string> {
  const [command, own] = commands[name]!;
  let attacks = 0;
  while (!over.aborted) {
    const sandbox = await start(own);
    await run(sandbox, command, 5000).catch(() => {}); // it exceeds a limit
    await sandbox.stop();
    attacks++;
  }
  return `${name}: ${attacks} sandboxes`;
}

const latencies: { idle: number[]; attacked: number[] } = { idle: [], attacked: [] };
for (let round = 0; round < Number(options.rounds); round++) {
  latencies.idle.push(...(await report('while idle')));
  const over = new AbortController();
  const attacks = names.map((name) => attack(name, over.signal));
  latencies.attacked.push(...(await report('during attacks')));
  over.abort();
  console.log((await Promise.all(attacks)).join(', '));
}
for (const [name, values] of Object.entries(latencies))
  console.log(`all rounds, ${name}: ${describe(values.toSorted((a, b) => a - b))}`);
await driver.close();
await gateway.close();
rmSync(dataDir, { recursive: true, force: true });
