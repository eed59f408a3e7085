import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadedConfig } from '../config/load.ts';
import {
  findLocalServers,
  findUnconfigured,
  type LocalServer,
  localServers,
  withLocalServers,
} from '../config/local-servers.ts';
import type { Config } from '../config/schema.ts';
import { type ConfigReport, watchConfig } from '../config/watch.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { writeSignInUrl } from '../access/console-sessions.ts';
import type { FirstKeys, OpenedGateway } from '../gateway.ts';
import { recordAddress } from '../platform/data-folder/data-folder.ts';
import { isPretty } from '../platform/telemetry/log-format.ts';
import type { Primary } from '../workers/primary.ts';
import { writeBanner } from './banner.ts';
import { emptyCoreDumps } from './empty-core-dumps.ts';
import { findTextModel } from './find-text-model.ts';
import { listEndpoints } from './list-endpoints.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

/** Maximum duration of the search for model servers on this machine. */
const LOCAL_MS = 300;

/** `npx` forwards Ctrl-C, which the terminal also sends. Two signals within this time count as one. */
const sameInterruptMs = 100;

/**
 * Serves until a signal. SIGTERM drains and closes gracefully, and SIGINT does not drain; a second one ends the process with 130.
 *
 * @returns the exit code
 * @throws {CommandError} if the gateway cannot start
 */
export async function start(
  terminal: Terminal,
  read: () => LoadedConfig,
  servers: readonly LocalServer[] = localServers,
): Promise<number> {
  const { stderr } = terminal;
  const written = read();
  const local = await findLocalServers(findUnconfigured(written, servers), LOCAL_MS);
  const load = () => withLocalServers(read(), local); // found once, at the start
  const loaded = withLocalServers(written, local);
  if (loaded.config.interns.enabled) emptyCoreDumps();
  for (const warning of loaded.warnings) stderr.write(`headgate: ${warning}\n`);
  for (const { id, variable } of loaded.discovered) {
    stderr.write(`headgate: ${variable} is set: models of ${id} as ${id}/… (catalog.auto_discover)\n`);
  }
  for (const { id, name, baseUrl, models } of local) {
    stderr.write(
      `headgate: ${name} responds at ${baseUrl}: ${models.length} models, as ${id}/… (catalog.auto_discover)\n`,
    );
  }
  let serving: Serving | undefined;
  // Messages are plain text before the log is open, or if the log is text. Otherwise they are lines of the log.
  const isPlain = isPretty(loaded.config.log.format, stderr);
  const report = (event: ConfigReport | ShutdownReport): void => {
    const { message, ...fields } = event;
    if (serving !== undefined && !isPlain) serving.log(message, fields);
    else for (const sentence of describeReport(event)) stderr.write(`headgate: ${sentence}\n`);
  };
  const signals = listenForSignals();
  const opening = open(loaded, terminal);
  // A SIGHUP before the gateway starts must not end the process.
  const stopWatching = watchConfig({
    running: loaded,
    load,
    apply: async (config) => (await opening).reload(config),
    report,
  });
  try {
    serving = await opening;
    const ending = await Promise.race([signals.first, serving.failed?.catch((error: Error) => error) ?? signals.first]);
    if (!(ending instanceof Error)) await shutDown(serving, ending, loaded.config, report);
    await stopWatching();
    await serving.close();
    if (ending instanceof Error) throw new CommandError(ending.message, { cause: ending });
    return 0;
  } finally {
    signals.stop();
    await stopWatching();
    terminal.onGatewayClosed?.();
  }
}

/** Starts one process, or several under a primary. */
type Serving = Pick<OpenedGateway, 'start' | 'reload' | 'log' | 'close'> & {
  drain(): MaybePromise<number>;
} & Partial<Pick<Primary, 'failed'>>;

/** Imports the server here, so that other commands do not load it. */
async function create({ config, dataDir, file }: LoadedConfig): Promise<Serving> {
  const workers = config.server.workers || availableParallelism();
  if (workers === 1) {
    const [{ openGateway }, { tuneProcess }] = await Promise.all([
      import('../gateway.ts'),
      import('../compose/tune-process.ts'),
    ]);
    const gateway = await openGateway({ config, dataDir, file, ownsProcess: true });
    tuneProcess(gateway);
    return gateway;
  }
  const { createPrimary } = await import('../workers/primary.ts');
  return createPrimary({ config, dataDir, file, workers });
}

async function open(loaded: LoadedConfig, terminal: Terminal): Promise<Serving> {
  const { config } = loaded;
  let gateway: Serving | undefined;
  try {
    gateway = await create(loaded);
    const { url, firstKeys } = await gateway.start();
    recordAddress(loaded.dataDir, url);
    // The URL and the keys are one write, so that a program that waits for the URL also gets the keys.
    terminal.stdout.write(
      writeBanner(terminal, loaded, url) + (firstKeys ? writeFirstKeys(loaded, url, firstKeys) : ''),
    );
    return gateway;
  } catch (error) {
    await gateway?.close();
    throw explain(error, config);
  }
}

/** Writes the keys, which are shown only once. Text to copy is on separate lines. */
function writeFirstKeys(loaded: LoadedConfig, url: string, keys: FirstKeys): string {
  const named = loaded.config.providers.flatMap(({ models }) => models.map(({ model }) => model));
  const model = findTextModel(listEndpoints(loaded), named);
  return `
This is the first start. It created two keys. They are shown only now, because only their hashes are stored.

  inference   ${keys.inference}
  management  ${keys.management}

${loaded.config.server.console ? writeConsoleLink(loaded, url, keys.signInToken) : ''}${model === undefined ? '' : writeFirstRequest(url, keys.inference, model)}`;
}

const writeConsoleLink = ({ config }: LoadedConfig, url: string, token: string): string =>
  `Open the console. This link works once, within an hour; "headgate console" prints another one:

${writeSignInUrl(config.server.public_url ?? url, token)}

`;

const writeFirstRequest = (url: string, key: string, model: string): string => `Try it:

curl ${url}/api/v1/responses \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "input": "Hello"}'

`;

function explain(error: unknown, { server: { host, port } }: Config): CommandError {
  // Node's network and file system errors have a code.
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    const message = `Port ${port} of ${host} is in use. Stop the program that listens there, or choose another one with --port.`;
    return new CommandError(message, { cause: error });
  }
  if (code === 'EACCES' && syscall === 'listen') {
    const message = `Port ${port} of ${host} is not allowed for this user: ports below 1024 often need root. Choose another one with --port.`;
    return new CommandError(message, { cause: error });
  }
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo') {
    const message = `${host} is not an address of this machine (${code}). Choose another one with --host: 127.0.0.1 for this machine only, 0.0.0.0 for all networks.`;
    return new CommandError(message, { cause: error });
  }
  if (syscall === 'listen') {
    const message = `Cannot listen on port ${port} of ${host} (${code}). Choose another --host or --port.`;
    return new CommandError(message, { cause: error });
  }
  return new CommandError(readMessage(error), { cause: error });
}

type ShutdownReport =
  | { message: 'drain started'; signal: string; drain_ms: number }
  | { message: 'shutdown started'; signal: string; grace_ms: number };

/** Serves new requests until load balancers have noticed, unless a person at a terminal waits for the end. */
async function shutDown(
  serving: Serving,
  signal: NodeJS.Signals,
  { server }: Config,
  report: (event: ShutdownReport) => void,
): Promise<void> {
  const drainMs = signal === 'SIGINT' ? 0 : await serving.drain();
  if (drainMs > 0) {
    report({ message: 'drain started', signal, drain_ms: drainMs });
    await delay(drainMs);
  }
  report({ message: 'shutdown started', signal, grace_ms: server.shutdown_grace_ms });
}

function describeReport(event: ConfigReport | ShutdownReport): readonly string[] {
  switch (event.message) {
    case 'config reloaded':
      return [`Reloaded: ${event.changed.join(', ') || 'nothing changed'}.`];
    case 'config restart required':
      return [`Changed, but needs a restart: ${event.changed.join(', ')}.`];
    case 'config warning':
      return [event.detail];
    case 'config rejected':
      return ['The configuration was not reloaded. The previous one stays in use:', ...event.problems];
    case 'drain started':
      return [
        `Stopping. New requests are served for ${event.drain_ms / 1000} s, and /ready is a 503. A second signal stops at once.`,
      ];
    case 'shutdown started':
      return [`Stopping. Open requests have ${event.grace_ms / 1000} s to finish. A second signal stops at once.`];
  }
}

function listenForSignals(): { first: Promise<NodeJS.Signals>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let first: { signal: string; at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (first === undefined) {
      first = { signal, at: now };
      resolve(signal);
    } else if (signal !== 'SIGINT' || first.signal !== 'SIGINT' || now - first.at > sameInterruptMs) process.exit(130);
  };
  const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
  for (const name of names) process.on(name, onSignal);
  return {
    first: promise,
    stop() {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
