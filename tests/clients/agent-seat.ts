import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patient } from '../../src/testing/patience.ts';

/** The time after which a coding agent is killed. A task takes a few seconds. */
export const patienceMs = patient(120_000);

/** A coding agent, and the version that CI installs and the tests expect: requests differ between versions. */
export interface Agent {
  /** The variable that names the program. */
  variable: string;
  /** Its name on PATH. */
  name: string;
  /** The package that contains it. */
  module: string;
  version: string;
}

/**
 * Finds the program of an agent, if it has the version.
 *
 * @returns `skipped`: the reason why there is none
 */
export function findAgent({ variable, name, module, version }: Agent): { program: string } | { skipped: string } {
  const program = process.env[variable] ?? name;
  const { stdout, stderr, error } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: patienceMs });
  const remedy = `npm install --global ${module}@${version}`;
  if (error) return { skipped: `the coding agent ${program} is not installed: ${remedy}` };
  const printed = `${stdout}${stderr}`;
  if (printed.includes(version)) return { program };
  return { skipped: `the coding agent is ${printed.trim()}, and the tests want ${version}: ${remedy}` };
}

/** The result of one call of the program. */
export interface AgentRun<Event> {
  code: number | null;
  /** Its report, one JSON object per line. */
  events: Event[];
  stdout: string;
  stderr: string;
  /** Hosts other than the gateway that it tried to reach. */
  strangers: string[];
}

/** A home folder, a working folder and an outbound proxy for a coding agent. */
export class AgentSeat implements AsyncDisposable {
  readonly home: string;
  readonly folder: string;
  private readonly program: string;
  private readonly strangers: string[] = [];
  private readonly proxy = createServer((request, response) => {
    this.strangers.push(request.url ?? '');
    response.writeHead(503).end();
  });

  constructor(program: string) {
    this.program = program;
    this.home = mkdtempSync(join(tmpdir(), 'headgate-agent-'));
    this.folder = join(this.home, 'work');
    mkdirSync(this.folder);
    this.proxy.on('connect', (request, socket) => {
      this.strangers.push(request.url ?? '');
      socket.on('error', () => {}); // the agent may disconnect first
      socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
    });
  }

  /**
   * Runs the program in the working folder. Only loopback is reachable without the proxy.
   *
   * @param signal ends it. Absent: it has `patienceMs`
   */
  async run<Event>(
    parameters: readonly string[],
    env: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<AgentRun<Event>> {
    if (!this.proxy.listening) await once(this.proxy.listen(0, '127.0.0.1'), 'listening');
    const proxy = `http://127.0.0.1:${(this.proxy.address() as AddressInfo).port}`; // it listens on a port
    const child = spawn(this.program, parameters, {
      cwd: this.folder,
      env: {
        PATH: process.env['PATH'],
        HOME: this.home,
        HTTP_PROXY: proxy,
        HTTPS_PROXY: proxy,
        ALL_PROXY: proxy,
        NO_PROXY: '127.0.0.1',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(signal ? { signal } : { timeout: patienceMs }),
      killSignal: 'SIGKILL',
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    const [code] = (await once(child, 'close')) as [number | null];
    const lines = output.stdout.split('\n').filter((line) => /^\{.*\}$/.test(line));
    const events = lines.map((line) => JSON.parse(line) as Event);
    return { code, events, ...output, strangers: this.strangers };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.closeAllConnections();
    this.proxy.close();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
