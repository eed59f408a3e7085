import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackEnd } from './back-end.ts';

/** The version that CI installs and these tests expect. */
export const codexVersion = '0.169.0';

/** The time after which it is killed. A task takes less than a second. */
export const patienceMs = 45_000;

/**
 * Finds the program of HEADGATE_TEST_CODEX, or `codex` on PATH, if it has that version: requests differ between versions.
 *
 * @returns `skipped`: the reason why there is none
 */
export function findCodex(): { program: string } | { skipped: string } {
  const program = process.env['HEADGATE_TEST_CODEX'] ?? 'codex';
  const { stdout, error } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: patienceMs });
  const mend = `npm install --global @openai/codex@${codexVersion}`;
  if (error) return { skipped: `the coding agent ${program} is not installed: ${mend}` };
  if (stdout.includes(codexVersion)) return { program };
  return { skipped: `the coding agent is ${stdout.trim()}, and the tests want ${codexVersion}: ${mend}` };
}

/** The result of one call of the program. */
export interface CodexRun {
  code: number | null;
  /** Its report, one JSON object per line. */
  events: CodexEvent[];
  stderr: string;
  /** Hosts other than the gateway that it tried to reach. */
  strangers: string[];
}

export interface CodexEvent {
  type: string;
  message?: string;
  item?: { type: string; text?: string; command?: string; aggregated_output?: string; exit_code?: number | null };
  usage?: Record<string, number>;
}

/** A home folder, a working folder and an outbound proxy for the program. */
export class CodexSeat implements AsyncDisposable {
  readonly folder: string;
  private readonly home: string;
  private readonly program: string;
  private readonly strangers: string[] = [];
  private readonly proxy = createServer((request, response) => {
    this.strangers.push(request.url ?? '');
    response.writeHead(503).end();
  });

  constructor(program: string) {
    this.program = program;
    this.home = mkdtempSync(join(tmpdir(), 'headgate-codex-'));
    this.folder = join(this.home, 'work');
    for (const folder of [this.folder, join(this.home, '.codex')]) mkdirSync(folder);
    this.proxy.on('connect', (request, socket) => {
      this.strangers.push(request.url ?? '');
      socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
    });
  }

  /** Runs it with a prompt and its default settings. */
  async exec({ gateway, model }: BackEnd, prompt: string): Promise<CodexRun> {
    if (!this.proxy.listening) await once(this.proxy.listen(0, '127.0.0.1'), 'listening');
    const proxy = `http://127.0.0.1:${(this.proxy.address() as AddressInfo).port}`; // it listens on a port
    writeFileSync(join(this.home, '.codex', 'config.toml'), writeConfig(gateway.baseUrl, model));
    const child = spawn(this.program, ['exec', '--json', '--skip-git-repo-check', prompt], {
      cwd: this.folder,
      env: {
        PATH: process.env['PATH'],
        HOME: this.home,
        CODEX_HOME: join(this.home, '.codex'),
        GATEWAY_KEY: gateway.key,
        HTTP_PROXY: proxy,
        HTTPS_PROXY: proxy,
        ALL_PROXY: proxy,
        NO_PROXY: '127.0.0.1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: patienceMs,
      killSignal: 'SIGKILL',
    });
    const told = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        told[name] += text;
      });
    }
    const [code] = (await once(child, 'close')) as [number | null];
    const lines = told.stdout.split('\n').filter((line) => line.startsWith('{'));
    const events = lines.map((line) => JSON.parse(line) as CodexEvent);
    return { code, events, stderr: told.stderr, strangers: this.strangers };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.closeAllConnections();
    this.proxy.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Commands come from the test alone, so they need no sandbox. Nothing may call the maker of the program. */
function writeConfig(baseUrl: string, model: string): string {
  return `model = "${model}"
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.gateway]
name = "Gateway"
base_url = "${baseUrl}"
env_key = "GATEWAY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}
