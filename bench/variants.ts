import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BodyModel } from './bodies.ts';
import { projectFolder, RigError, run } from './rig.ts';

/** The environment of a gateway. */
export interface Place {
  port: number;
  upstreamPort: number;
  /** A new folder. */
  folder: string;
  /** Arguments of Node, before the script. */
  nodeArguments: readonly string[];
}

/** A gateway to measure, or a reference. */
export interface Variant {
  /** The name for `--only`. */
  name: string;
  /** The head of its column. */
  title: string;
  path: string;
  bodyModel: BodyModel;
  /** Whether the budgets apply to it. */
  budgeted: boolean;
  /** Whether its model calls server tools: the mock scripts that for one protocol. */
  hasSteps?: boolean;
  /** Skipped unless `--only` names it. */
  named?: boolean;
  /** Maximum rounds. Absent: all. */
  rounds?: number;
  /** Prepares the start. @throws {RigError} if it cannot run */
  prepare(): Promise<void>;
  /** The header lines of every request. */
  headers(upstreamPort: number): string[];
  /** Writes its files into the folder. @returns the command to start */
  command(place: Place): string[];
}

const nginxProgram = '/usr/sbin/nginx';

/** nginx as a bare reverse proxy. It runs at two speeds on some machines, so it is not a baseline. */
const nginx: Variant = {
  name: 'nginx',
  title: 'nginx',
  path: '/v1/responses',
  bodyModel: 'upstream',
  budgeted: false,
  async prepare() {
    if (!existsSync(nginxProgram)) {
      throw new RigError('nginx is not installed. Debian: apt-get install --no-install-recommends nginx');
    }
  },
  headers: () => [],
  command(place) {
    const file = join(place.folder, 'nginx.conf');
    writeFileSync(file, writeNginxConfig(place));
    return [nginxProgram, '-c', file, '-e', join(place.folder, 'error.log')];
  },
};

/**
 * A plain reverse proxy with keep-alive on both sides. `proxy_buffering off`, because a gateway sends every event at
 * once. The body buffer fits 50 KB, so that nginx does not write bodies to disk.
 */
function writeNginxConfig({ port, upstreamPort, folder }: Place): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
events { worker_connections 8192; }
http {
  access_log off;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n  ')}
  upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 100000000;
    client_max_body_size 64m;
    client_body_buffer_size 256k;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}

/** A proxy on `node:http` and undici. */
function defineProxy(name: string, title: string): Variant {
  return {
    name,
    title,
    path: '/v1/responses',
    bodyModel: 'upstream',
    budgeted: false,
    async prepare() {},
    headers: () => ['authorization: Bearer bench-key'],
    command: ({ port, upstreamPort, nodeArguments }) => [
      process.execPath,
      ...nodeArguments,
      join(projectFolder, `bench/references/${name}.ts`),
      String(port),
      String(upstreamPort),
    ],
  };
}

/** Forwards bytes: the baseline of paced streams, whose cost is mostly wake-ups. */
export const bareProxy = defineProxy('bare-proxy', 'bare proxy');

/** Parses and serializes every body and event: the minimum of a translating gateway on Node. */
export const parsingProxy = defineProxy('parsing-proxy', 'parsing proxy (floor)');

const peerFolder = join(projectFolder, 'bench/peer');
const peerScript = join(peerFolder, 'node_modules/@portkey-ai/gateway/build/start-server.js');

/** The TypeScript peer. It is far from every budget, so one round is enough. */
const peer: Variant = {
  name: 'peer',
  title: '@portkey-ai/gateway',
  path: '/v1/responses',
  bodyModel: 'upstream',
  budgeted: false,
  rounds: 1,
  async prepare() {
    if (existsSync(peerScript)) return;
    console.log('Installing the peer into bench/peer (first run only) …');
    const { code, output } = await run(
      ['npm', 'ci', '--prefix', peerFolder, '--ignore-scripts', '--no-audit', '--no-fund'],
      { limitMs: 180_000 },
    );
    if (code !== 0) throw new RigError(`npm ci --prefix bench/peer failed: ${output.slice(-300)}`);
  },
  headers: (upstreamPort) => [
    'x-portkey-provider: openai',
    `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`,
    'authorization: Bearer bench-key',
  ],
  command: ({ port, nodeArguments }) => [
    process.execPath,
    ...nodeArguments,
    peerScript,
    `--port=${port}`,
    '--headless',
  ],
};

const headgateKey = 'bench-key-0123456789';

/**
 * Headgate over one wire, with authentication, validation, translation and the ledger.
 *
 * @param build the compiled program of another build; absent: this checkout
 */
function defineHeadgate(name: string, title: string, wire: string, build?: string): Variant {
  return {
    name,
    title,
    path: '/api/v1/responses',
    bodyModel: 'slug',
    budgeted: true,
    prepare: build === undefined ? buildHeadgate : async () => requireFile(build),
    headers: () => [`authorization: Bearer ${headgateKey}`],
    command({ port, upstreamPort, folder, nodeArguments }) {
      const config = join(folder, 'headgate.yaml');
      const data = join(folder, 'data');
      mkdirSync(data);
      writeFileSync(config, JSON.stringify(writeHeadgateConfig(wire, upstreamPort))); // JSON is YAML
      const cli = build ?? findHeadgateCli();
      return [
        process.execPath,
        ...nodeArguments,
        cli,
        'start',
        '--config',
        config,
        '--port',
        String(port),
        '--data',
        data,
      ];
    },
  };
}

function writeHeadgateConfig(wire: string, upstreamPort: number) {
  return {
    providers: [
      {
        id: 'mock',
        wire,
        base_url: `http://127.0.0.1:${upstreamPort}/v1`,
        api_key: 'upstream-key',
        models: [
          {
            model: 'acme/mock-model',
            upstream_model: 'mock-model',
            pricing: { prompt: 0.00000025, completion: 0.000002 },
          },
        ],
      },
    ],
    bootstrap: {
      workspaces: [{ name: 'bench' }],
      members: [{ id: 'ada', workspaces: ['bench'] }],
      keys: [{ key: headgateKey, name: 'bench', workspace: 'bench', member: 'ada' }],
    },
  };
}

/** Returns the compiled program, or the source if it is not compiled. */
function findHeadgateCli(): string {
  const compiled = join(projectFolder, 'dist/cli.js');
  return existsSync(compiled) ? compiled : join(projectFolder, 'src/cli.ts');
}

function requireFile(file: string): void {
  if (!existsSync(file)) throw new RigError(`${file} does not exist. Run npm run build in that checkout.`);
}

let headgateBuild: Promise<void> | undefined;

/** Compiles Headgate, once per run. */
async function buildHeadgate(): Promise<void> {
  headgateBuild ??= (async () => {
    if (!existsSync(join(projectFolder, 'src/cli.ts'))) throw new RigError('src/cli.ts does not exist.');
    if (!existsSync(join(projectFolder, 'scripts/build.ts'))) return;
    const { code, output } = await run(['npm', 'run', 'build'], { cwd: projectFolder, limitMs: 180_000 });
    if (code !== 0) throw new RigError(`npm run build failed:\n${output}`);
  })();
  await headgateBuild;
}

/**
 * Returns all variants. `--only` selects some. The baselines are always measured.
 *
 * @param against the compiled program of another build of Headgate, to be measured as `other`; absent: none
 */
export function listVariants(against?: string): readonly Variant[] {
  if (against === undefined) return variants;
  return [defineHeadgate('other', 'other build (chat)', 'openai-chat', resolve(against)), ...variants];
}

const variants: readonly Variant[] = [
  { ...defineHeadgate('headgate', 'Headgate (chat)', 'openai-chat'), hasSteps: true },
  defineHeadgate('headgate-responses', 'Headgate (responses)', 'openai-responses'),
  { ...defineHeadgate('headgate-messages', 'Headgate (messages)', 'anthropic-messages'), named: true },
  { ...defineHeadgate('headgate-gemini', 'Headgate (gemini)', 'gemini'), named: true },
  nginx,
  peer,
];

/** The variants that ratios refer to. */
export const baselineVariants: readonly Variant[] = [parsingProxy, bareProxy];
