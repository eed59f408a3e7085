import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeUserinfo } from '../domain/encode-userinfo.ts';
import { listUrls } from '../domain/list-urls.ts';
import { findNearestName } from '../domain/nearest-name.ts';
import { parseJson } from '../domain/parse-json.ts';
import { type CheckDialect, checkDialects } from './check-dialects.ts';
import { checkRelations, findSuspiciousPrices, type RelationProblem } from './check-relations.ts';
import { checkSchema } from './check-schema.ts';
import { ConfigError } from './config-error.ts';
import { type Environment, type Override, readOverrides } from './environment.ts';
import { findFile } from './find-file.ts';
import { findProxy } from './find-proxy.ts';
import { completeFileStore } from './file-store.ts';
import { interpolate, type Problem } from './interpolate.ts';
import { completeProviders, discoverProviders, findKnownProvider } from './known-providers.ts';
import { formatPath, getIn, type Path, setIn } from './path.ts';
import { type FileTree, readTree } from './read-file.ts';
import type { Config, ProviderConfig } from './schema.ts';
import { findNode } from './schema-node.ts';
import { completeSearchEngines, discoverSearchEngines } from './search-engines.ts';
import { simulatorProvider } from './simulator.ts';
import { trimBaseUrls } from './trim-base-urls.ts';
import { trimSecrets } from './trim-secrets.ts';

export interface ConfigSources {
  /** `--config`. Absent: HEADGATE_CONFIG, or an existing `headgate.yaml` in the working directory. Null: no file. */
  file?: string | null;
  /** The content of the file, instead of one. */
  tree?: Readonly<Record<string, unknown>>;
  env: Environment;
  /** `--port`, `--host`, `--data`, `--workers`, unparsed. */
  flags?: { port?: string | number; host?: string; data?: string; workers?: string };
  /** The base of relative paths. Default: the working directory. */
  cwd?: string;
  /** Absent: `dialect` is not checked, because each wire has its own settings. */
  checkDialect?: CheckDialect;
}

export interface LoadedConfig {
  /** Deeply frozen. `file:` URLs of `storage` and `files` are absolute. */
  config: Config;
  /** Absolute. Not created here. */
  dataDir: string;
  /** Absolute. Undefined if there is no file. */
  file: string | undefined;
  /** One line each. */
  warnings: string[];
  /** Whether the simulator is the only provider, because none is configured or detected. */
  isBare: boolean;
  /** Providers that are not configured and whose key is in the environment. */
  discovered: { id: string; variable: string }[];
  /** False if the configuration is invalid. Placeholders then replace the invalid values. */
  isComplete: boolean;
}

/**
 * Loads defaults, file, environment and flags. Each overrides the ones before.
 *
 * @throws {ConfigError} with all problems
 */
export function loadConfig({
  file: named,
  tree: given = {},
  env,
  flags = {},
  cwd = process.cwd(),
  checkDialect = () => ({ issues: [], hints: [] }),
}: ConfigSources): LoadedConfig {
  const dataDir = resolve(cwd, flags.data || env.HEADGATE_DATA || 'data');
  const file = named === null ? undefined : findFile(named || env.HEADGATE_CONFIG, cwd);
  const written = file === undefined ? undefined : readFile(file, showPath(file, cwd));

  const tree = written?.tree ?? structuredClone(given);
  const topKeys = new Set(Object.keys(tree));
  const filled = interpolate(tree, env);
  const complete = filled.tree as Record<string, unknown>; // interpolation changes strings only
  const found = readOverrides(env, complete, filled.names);
  const overrides = [...found.overrides, ...readFlags(flags)];
  const unplaced = overrides.filter(({ path, value }) => !setIn(complete, path, value));
  const incomplete = [
    ...completeProviders(complete, env),
    ...completeSearchEngines(complete, env),
    ...completeFileStore(complete, env),
  ];
  const quoted = trimSecrets(complete);
  const trimmed = trimBaseUrls(complete);
  const checked = checkSchema(complete, (path) => !filled.filled.has(JSON.stringify(path)));
  const config = checked.tree as Config; // invalid values are replaced with placeholders

  // the schema must not report these paths again
  const settled = filled.problems.map(({ path }) => path);
  const problems: (Problem & { source?: string })[] = [
    ...filled.problems.filter(({ path }) => !findOverride(overrides, path)),
    ...incomplete,
    ...checked.problems.filter(({ path }) => !settled.some((start) => startsWith(path, start))),
    ...found.problems,
    ...unplaced.map(({ path, source }) => ({
      path,
      source,
      message: 'cannot be set, because earlier list entries are missing',
    })),
  ];
  const wrong = problems.map(({ path }) => path);
  const isFilled = (path: Path) => [...filled.filled].some((one) => startsWith(parseJson(one) as Path, path));
  const dialects = checkDialects(config.providers, checkDialect, (path) => !isFilled(path));
  problems.push(
    ...[...checkRelations(config), ...dialects.problems].filter((problem) => !isFollowUp(problem, config, wrong)),
  );
  const settle = (isComplete: boolean) =>
    settleConfig(config, {
      isComplete,
      dataDir,
      file,
      env,
      names: filled.names,
      cwd,
      warnings: [...found.warnings, ...quoted, ...trimmed, ...dialects.warnings],
    });
  if (problems.length === 0) return settle(true);

  const lines = problems.map(({ path, message, source = findOverride(overrides, path)?.source }) => {
    const where = formatPath(path);
    if (source !== undefined) return { text: `${source} (${where}): ${message}` };
    const isInFile = written !== undefined && file !== undefined && topKeys.has(String(path[0]));
    if (!isInFile) return { text: `${where}: ${message}` };
    const line = written.lineOf(path);
    return { line, text: `${showPath(file, cwd)}:${line}: ${where}: ${message}` };
  });
  lines.sort((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER)); // by line
  const isSound = (needed: Path) =>
    problems.every(
      ({ path }) => !touches(path, needed) && (findOverride(overrides, needed) || !isMisspelled(path, needed)),
    );
  throw new ConfigError([...new Set(lines.map(({ text }) => text))], (needed) =>
    needed.every(isSound) ? settle(false) : undefined,
  );
}

interface Surroundings extends Pick<LoadedConfig, 'isComplete' | 'dataDir' | 'file' | 'warnings'> {
  env: Environment;
  /** The variables that the file names. */
  names: ReadonlySet<string>;
  cwd: string;
}

/** Makes paths absolute and adds the detected providers. */
function settleConfig(checked: Config, { env, names, cwd, warnings, ...about }: Surroundings): LoadedConfig {
  const config = structuredClone(checked);
  const { storage, counters, catalog, providers, plugins, tools } = config;
  storage.url = settleFileUrl(storage.url, about.dataDir, cwd);
  config.files.url = settleFileUrl(config.files.url, about.dataDir, cwd);
  config.tools.modules = tools.modules.map((path) => resolve(cwd, path));
  if (catalog.overrides !== undefined) catalog.overrides = resolve(cwd, catalog.overrides);
  plugins.modules = plugins.modules.map((path) => resolve(cwd, path));
  const discovered = catalog.auto_discover ? discoverProviders(providers, env) : [];
  if (catalog.auto_discover) discoverSearchEngines(config, env);
  providers.push(...discovered.map(({ provider }) => structuredClone(provider)));
  for (const provider of providers) {
    if (provider.base_url === undefined || provider.wire === 'ai-sdk') continue;
    const proxy = provider.proxy ?? findProxy(provider.base_url, env);
    if (proxy) provider.proxy = proxy;
  }
  const quoted = trimSecrets(config);
  for (const provider of providers) nameKeys(provider, env, names);
  storage.url = encodeUserinfo(storage.url);
  counters.url = listUrls(counters.url).map(encodeUserinfo).join(',');
  const isBare = providers.length === 0 && catalog.simulator;
  if (isBare) providers.push(structuredClone(simulatorProvider));
  return {
    ...about,
    config: deepFreeze(config),
    warnings: [...warnings, ...quoted, ...findSuspiciousPrices(providers)],
    isBare,
    discovered: discovered.map(({ variable, provider }) => ({ variable, id: provider.id })),
  };
}

/** Names the keys of a provider after the variables that hold them. @param names of variables */
function nameKeys(provider: ProviderConfig, env: Environment, names: ReadonlySet<string>): void {
  if (provider.api_key === undefined || provider.key_names !== undefined) return;
  const candidates = [...names, ...(findKnownProvider(provider)?.env ?? [])];
  const found = [provider.api_key].flat().map((key) => candidates.find((name) => env[name]?.trim() === key));
  if (found.some((name) => name !== undefined)) {
    provider.key_names = found.map((name, index) => name ?? `key ${index + 1}`);
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'is a folder, not a file',
  EACCES: 'cannot be read by this user',
};

/** PowerShell writes UTF-16 with a byte order mark. */
const decode = (bytes: Buffer): string =>
  bytes.length >= 2 && bytes.readUInt16LE(0) === 0xfeff ? bytes.toString('utf16le', 2) : bytes.toString('utf8');

/** @throws {ConfigError} if the file does not exist or is not valid YAML */
function readFile(file: string, shownFile: string): FileTree {
  let text: string;
  try {
    text = decode(readFileSync(file));
  } catch (error) {
    // Node's errors of the file system carry a code.
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError([`${shownFile}: ${unreadable[code ?? ''] ?? `cannot be read (${code})`}`]);
  }
  const written = readTree(text);
  if (written.problems.length > 0) {
    throw new ConfigError(written.problems.map(({ line, message }) => `${shownFile}:${line}: ${message}`));
  }
  return written;
}

/** Returns a path for messages, relative if it is inside the working directory. */
export function showPath(file: string, cwd: string): string {
  const short = relative(cwd, file);
  return short === '' || short.startsWith('..') ? file : short;
}

function readFlags({ port, host, workers }: NonNullable<ConfigSources['flags']>): Override[] {
  const overrides: Override[] = [];
  if (port !== undefined) overrides.push({ path: ['server', 'port'], value: String(port), source: '--port' });
  if (host !== undefined) overrides.push({ path: ['server', 'host'], value: host, source: '--host' });
  if (workers !== undefined) {
    overrides.push({ path: ['server', 'workers'], value: workers === 'auto' ? '0' : workers, source: '--workers' });
  }
  return overrides;
}

/** Whether a problem may only follow from another one. A missing value may have a misspelled key. */
function isFollowUp({ path, dependsOn = [] }: RelationProblem, config: Config, wrong: readonly Path[]): boolean {
  const around = getIn(config, path) === undefined ? [path.slice(0, -1)] : [];
  const grounds = [path, ...dependsOn, ...around];
  return grounds.some((ground) => wrong.some((bad) => touches(bad, ground)));
}

const touches = (one: Path, other: Path) => startsWith(one, other) || startsWith(other, one);

/** Whether the unknown key is a misspelling of a key of `path`, so that the value at `path` is not the intended one. */
function isMisspelled(wrong: Path, path: Path): boolean {
  const depth = wrong.length - 1;
  const [key, step] = [wrong[depth], path[depth]];
  if (typeof key !== 'string' || step === undefined || !startsWith(path, wrong.slice(0, depth))) return false;
  const known = Object.keys(findNode(wrong.slice(0, depth))?.properties ?? {});
  return !known.includes(key) && findNearestName(key, known) === step;
}

const startsWith = (path: Path, start: Path) => start.every((step, index) => path[index] === step);
const findOverride = (overrides: readonly Override[], path: Path) =>
  overrides.findLast((override) => startsWith(path, override.path));

function settleFileUrl(url: string, dataDir: string, cwd: string): string {
  if (!url.startsWith('file:') || url === 'file::memory:') return url;
  const path = url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length);
  return `file:${resolve(
    cwd,
    path.replace('<data>', () => dataDir),
  )}`;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}
