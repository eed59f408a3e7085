import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BodyApi, type BodySize, bodyFile, writeBodies } from './bodies.ts';
import { isRunning, listTree, type StartOptions, startProcess, stopProcess } from './processes.ts';
import type { Variant } from './variants.ts';

const benchFolder = import.meta.dirname;

/** The checkout. */
export const projectFolder = join(benchFolder, '..');
/** All files of the rig. Git ignores them. */
export const buildFolder = join(benchFolder, '.build');
const bodiesFolder = join(buildFolder, 'bodies');
/** Configurations, data folders and logs of this run. Deleted at the end. */
export const runFolder = join(buildFolder, `run-${process.pid}`);

/** CPUs this program may use, read before it pins itself to one. */
export const cpuCount = availableParallelism();
/** Gateways run on one CPU, the rig on the other, so that they do not compete. */
const gatewayCpu = cpuCount > 1 ? 0 : undefined;
const rigCpu = cpuCount > 1 ? 1 : undefined;

/** The intervals between the mock's events in ms: a burst, a fast model, and one slow enough to keep streams open. */
export type Pace = 0 | 5 | 50;

/** The mock upstream: one process with one port per pace. */
export interface Mock {
  child: ChildProcess;
  ports: Record<Pace, number>;
}

/** A gateway that has responded once. */
export interface Gateway {
  variant: Variant;
  child: ChildProcess;
  port: number;
  upstreamPort: number;
  /** The process and its workers. */
  pids: number[];
  /** From the start of the process to its first complete response, in ms. */
  firstResponseMs: number;
  /** Its folder in `runFolder`. */
  folder: string;
}

/** One run of the load generator. */
export interface Load {
  size: BodySize;
  /** Absent: that of the gateway's path. */
  api?: BodyApi;
  stream: boolean;
  connections: number;
  /** Warm-up before the measured window, in s. */
  warmUpSeconds: number;
  seconds: number;
  /** Requests per second, at random times. Absent: each connection sends the next request at once. */
  rate?: number;
  /** Spreads the first requests over this many ms, so that paced streams are not in sync. */
  spreadMs?: number;
}

/** The used output of `load.c`. Times in µs. The last three fields are only for streams. */
export interface LoadResult {
  reqs: number;
  rps: number;
  cpu_us_req: number;
  p50_us: number;
  p99_us: number;
  non200: number;
  errors: number;
  /** CPU time of processes that are neither gateway nor rig, in percent of one CPU. */
  foreign_cpu_pct: number;
  steal_pct: number;
  cpu_us_event: number;
  delta_p50_us: number;
  delta_p99_us: number;
}

/** A failure of the rig. The message has the reason and the remedy. */
export class RigError extends Error {}

/** Compiles the mock and the load generator, and writes the request bodies. */
export async function prepareRig(): Promise<void> {
  if (process.platform !== 'linux') throw new RigError('The rig needs Linux: epoll, /proc and taskset.');
  mkdirSync(runFolder, { recursive: true });
  for (const name of ['mock', 'load']) await compile(name);
  writeBodies(bodiesFolder);
  // the driver and its unpinned children run on the rig's CPU
  if (rigCpu !== undefined) await run(['taskset', '-acp', String(rigCpu), String(process.pid)]);
}

/** Deletes the files of this run. */
export function cleanRig(): void {
  rmSync(runFolder, { recursive: true, force: true });
}

async function compile(name: string): Promise<void> {
  const source = join(benchFolder, `${name}.c`);
  const program = join(buildFolder, name);
  if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) return;
  const { code, output } = await run(['cc', '-O2', '-o', program, source, '-lm']);
  if (code === undefined) {
    throw new RigError(
      'No C compiler: the mock upstream and the load generator are C. Debian: apt-get install gcc libc6-dev',
    );
  }
  if (code !== 0) throw new RigError(`cc could not build ${name}.c:\n${output}`);
}

/**
 * Runs a command for at most `limitMs`.
 *
 * @returns its exit code and the end of its stdout and stderr; no code if the program is missing or was killed
 */
export async function run(
  command: readonly string[],
  options: StartOptions & { limitMs?: number } = {},
): Promise<{ code: number | undefined; stdout: string; output: string }> {
  const log = options.log ?? join(runFolder, 'command.log');
  const child = startProcess(command, { ...options, log, stdout: 'pipe' });
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const late = setTimeout(() => void stopProcess(child), options.limitMs ?? 60_000);
  const code = await new Promise<number | undefined>((resolve) => {
    child.on('error', () => resolve(undefined));
    child.on('close', (exitCode) => resolve(exitCode ?? undefined));
  });
  clearTimeout(late);
  return { code, stdout, output: (stdout + readFileSync(log, 'utf8')).slice(-2_000) };
}

/** Starts the mock upstream on free ports. */
export async function startMock(): Promise<Mock> {
  const ports: Record<Pace, number> = { 0: await findFreePort(), 5: await findFreePort(), 50: await findFreePort() };
  const child = startProcess([join(buildFolder, 'mock'), `${ports[0]}`, `${ports[5]}:5000`, `${ports[50]}:50000`]);
  for (const end = Date.now() + 5_000; ; ) {
    if ((await ask(ports[50], 'GET', '/', [], undefined)).status === 200) return { child, ports };
    if (!isRunning(child) || Date.now() > end) throw new RigError('The mock upstream did not start.');
    await sleep(20);
  }
}

let launches = 0;

/**
 * Starts a gateway in front of a port of the mock, in a new folder, and waits until it responds.
 *
 * @param nodeArguments for Node, such as `--cpu-prof`; ignored by other programs
 * @throws {RigError} if it does not respond with 200 within 20 s, with its last output
 */
export async function startGateway(
  variant: Variant,
  upstreamPort: number,
  nodeArguments: readonly string[] = [],
): Promise<Gateway> {
  const folder = join(runFolder, `${variant.name}-${++launches}`);
  mkdirSync(folder, { recursive: true });
  const port = await findFreePort();
  const command = variant.command({ port, upstreamPort, folder, nodeArguments });
  const log = join(folder, 'stderr.log');
  const body = readFileSync(bodyFile(bodiesFolder, variant.bodyModel, '2k', false));
  const startedAt = performance.now();
  const child = startProcess(command, { cpu: gatewayCpu, cwd: folder, log });
  for (;;) {
    const answer = await ask(port, 'POST', variant.path, variant.headers(upstreamPort), body);
    if (answer.status === 200) break;
    const waitedMs = performance.now() - startedAt;
    if (!isRunning(child) || waitedMs > 20_000) {
      await stopProcess(child);
      const output = [answer.text, readFileSync(log, 'utf8')].map((text) => text.trim().slice(-800)).filter(Boolean);
      throw new RigError(`${variant.title} did not respond: ${output.join('\n') || 'no output'}`);
    }
    await sleep(4);
  }
  const firstResponseMs = performance.now() - startedAt;
  return { variant, child, port, upstreamPort, pids: listTree(child.pid!), firstResponseMs, folder };
}

/** Ends a gateway and its children. */
export async function stopGateway(gateway: Gateway, graceMs?: number): Promise<void> {
  await stopProcess(gateway.child, graceMs);
}

/** Runs one measurement with a separate gateway. */
export async function withGateway(
  variant: Variant,
  mock: Mock,
  pace: Pace,
  nodeArguments: readonly string[],
  work: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway(variant, mock.ports[pace], nodeArguments);
  await work(gateway).finally(() => stopGateway(gateway));
}

/** The paths of Headgate's APIs. */
const apiPaths: Record<BodyApi, string> = {
  responses: '/api/v1/responses',
  chat: '/api/v1/chat/completions',
  messages: '/api/v1/messages',
};

/**
 * Runs the load generator against a gateway.
 *
 * @throws {RigError} if a response was not a 200 or was truncated, which makes the window invalid
 */
export async function runLoad(gateway: Gateway, load: Load, mock: Mock): Promise<LoadResult> {
  const { variant, port, pids } = gateway;
  const url = `http://127.0.0.1:${port}${load.api ? apiPaths[load.api] : variant.path}`;
  return generateLoad(url, variant.bodyModel, variant.headers(gateway.upstreamPort), pids, load, mock);
}

/** Runs the load generator against the mock directly, as the baseline of latencies. */
export async function runDirectLoad(pace: Pace, load: Load, mock: Mock): Promise<LoadResult> {
  return generateLoad(`http://127.0.0.1:${mock.ports[pace]}/v1/responses`, 'upstream', [], [], load, mock);
}

async function generateLoad(
  url: string,
  bodyModel: 'slug' | 'upstream',
  headers: readonly string[],
  pids: readonly number[],
  load: Load,
  mock: Mock,
): Promise<LoadResult> {
  const body = bodyFile(bodiesFolder, bodyModel, load.size, load.stream, load.api);
  const command = [join(buildFolder, 'load'), '-u', url, '-b', body, '-c', String(load.connections)];
  command.push('-w', String(load.warmUpSeconds), '-d', String(load.seconds), '-o', String(mock.child.pid));
  if (pids.length > 0) command.push('-p', pids.join(','));
  if (load.stream) command.push('-s');
  if (load.rate !== undefined) command.push('-r', load.rate.toFixed(0));
  if (load.spreadMs !== undefined) command.push('-x', String(load.spreadMs));
  for (const header of headers) command.push('-H', header);
  const limitMs = (load.warmUpSeconds + load.seconds + 15) * 1_000;
  const { stdout, output } = await run(command, { limitMs });
  let result: LoadResult;
  try {
    result = JSON.parse(stdout) as LoadResult; // the format of `load.c`
  } catch {
    throw new RigError(`The load generator printed no result: ${output.slice(-400)}`);
  }
  if (result.non200 > 0 || result.errors > 0) {
    const reason = output.replace(stdout, '').trim().slice(0, 400);
    throw new RigError(`${result.non200} responses were not 200, ${result.errors} were interrupted. ${reason}`);
  }
  if (result.reqs === 0 && !(result.cpu_us_event > 0)) throw new RigError('There was no response within the window.');
  return result;
}

/** Finds a free port on loopback. */
export async function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

/** Sends one request on a new connection. Status 0: no response. */
async function ask(
  port: number,
  method: string,
  path: string,
  headers: readonly string[],
  body: Buffer | undefined,
): Promise<{ status: number; text: string }> {
  const fields: Record<string, string> = { 'content-type': 'application/json' };
  for (const header of headers) {
    const colon = header.indexOf(':');
    fields[header.slice(0, colon)] = header.slice(colon + 1).trim();
  }
  return new Promise((resolve) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers: fields, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
      incoming.on('error', (error) => resolve({ status: 0, text: error.message }));
    });
    outgoing.setTimeout(5_000, () => outgoing.destroy(new Error('no response within 5 s')));
    outgoing.on('error', (error) => resolve({ status: 0, text: error.message }));
    outgoing.end(body);
  });
}
