import { existsSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNearestName } from '../domain/nearest-name.ts';
import { checkRelations, findSuspiciousPrices, findUnusedSettings, type RelationProblem } from './check-relations.ts';
import { checkSchema } from './check-schema.ts';
import { type Environment, type Override, readOverrides } from './environment.ts';
import { interpolate, type Problem } from './interpolate.ts';
import { completeProviders, discoverProviders } from './known-providers.ts';
import { formatPath, getIn, type Path, setIn } from './path.ts';
import { type FileTree, readTree } from './read-file.ts';
import type { Config } from './schema.ts';
import { findNode } from './schema-node.ts';
import { simulatorProvider } from './simulator.ts';
import { rejectUnsupportedSettings } from './unsupported-settings.ts';

export interface ConfigSources {
  /** `--config`. Absent: HEADGATE_CONFIG, or `headgate.yaml` in the working directory when it is there. Null: no file. */
  file?: string | null;
  env: Environment;
  /** `--port`, `--host`, `--data`, `--workers`, as they were typed. */
  flags?: { port?: string | number; host?: string; data?: string; workers?: string };
  /** What relative paths are relative to. Default: the working directory. */
  cwd?: string;
}

export interface LoadedConfig {
  /** Frozen through and through. A `file:` URL of `storage` is absolute. */
  config: Config;
  /** Absolute. Not made here. */
  dataDir: string;
  /** Absolute; undefined when there is no file. */
  file: string | undefined;
  /** One line each. */
  warnings: string[];
  /** No provider is configured or detected, so the simulator is the only one. */
  isBare: boolean;
  /** Providers that nobody configured and whose key stands in the environment. */
  discovered: { id: string; variable: string }[];
  /** False for what is left of a configuration that cannot be used: where it is wrong stands what means nothing. */
  isWhole: boolean;
}

/** A configuration that cannot be used. `problems` are all of them, one line each, and never hold a secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  /** What is left of it, for those who need no more than these values; undefined when one of them is wrong, too. */
  readonly findSound: (needed: readonly Path[]) => LoadedConfig | undefined;
  /** False when there is no file where one was named, or it is no YAML: nothing of it is known then. */
  readonly isRead: boolean;

  constructor(problems: readonly string[], findSound?: ConfigError['findSound']) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.findSound = findSound ?? (() => undefined);
    this.isRead = findSound !== undefined;
  }
}

/**
 * Defaults + file + environment + flags, each over the ones before.
 *
 * @throws {ConfigError} with all problems
 */
export function loadConfig({ file: named, env, flags = {}, cwd = process.cwd() }: ConfigSources): LoadedConfig {
  const dataDir = resolve(cwd, flags.data || env.HEADGATE_DATA || 'data');
  const file = named === null ? undefined : findFile(named || env.HEADGATE_CONFIG, cwd);
  const written = file === undefined ? undefined : readFile(file, showPath(file, cwd));

  const tree = written?.tree ?? {};
  const topKeys = new Set(Object.keys(tree));
  const refused = rejectUnsupportedSettings(tree);
  const filled = interpolate(tree, env);
  const whole = filled.tree as Record<string, unknown>; // interpolation changes strings only
  const found = readOverrides(env, whole, filled.names);
  const overrides = [...found.overrides, ...readFlags(flags)];
  const unplaced = overrides.filter(({ path, value }) => !setIn(whole, path, value));
  const incomplete = completeProviders(whole, env);
  const refusedLater = rejectUnsupportedSettings(whole);
  const checked = checkSchema(whole, (path) => !filled.filled.has(JSON.stringify(path)));
  const config = checked.tree as Config; // where something is wrong, too, there is a value of the right kind

  // What is wrong already is not found wrong again.
  const settled = [...refused.refused, ...refusedLater.refused, ...filled.problems.map(({ path }) => path)];
  const problems: (Problem & { source?: string })[] = [
    ...filled.problems.filter(({ path }) => !findOverride(overrides, path)),
    ...refused.problems,
    ...refusedLater.problems,
    ...incomplete,
    ...checked.problems.filter(({ path }) => !settled.some((start) => startsWith(path, start))),
    ...found.problems,
    ...unplaced.map(({ path, source }) => ({
      path,
      source,
      message: 'has no place: list entries before it are missing',
    })),
  ];
  const wrong = problems.map(({ path }) => path);
  problems.push(...checkRelations(config).filter((problem) => !isFollowUp(problem, config, wrong)));
  const settle = (isWhole: boolean) =>
    settleConfig(config, { isWhole, dataDir, file, env, cwd, warnings: found.warnings });
  if (problems.length === 0) return settle(true);

  const told = problems.map(({ path, message, source = findOverride(overrides, path)?.source }) => {
    const where = formatPath(path);
    if (source !== undefined) return { text: `${source} (${where}): ${message}` };
    const isInFile = written !== undefined && file !== undefined && topKeys.has(String(path[0]));
    if (!isInFile) return { text: `${where}: ${message}` };
    const line = written.lineOf(path);
    return { line, text: `${showPath(file, cwd)}:${line}: ${where}: ${message}` };
  });
  told.sort((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER)); // as one mends them
  const isSound = (needed: Path) =>
    problems.every(({ path }) => !touches(path, needed) && (findOverride(overrides, needed) || !isMeant(path, needed)));
  throw new ConfigError([...new Set(told.map(({ text }) => text))], (needed) =>
    needed.every(isSound) ? settle(false) : undefined,
  );
}

interface Surroundings extends Pick<LoadedConfig, 'isWhole' | 'dataDir' | 'file' | 'warnings'> {
  env: Environment;
  cwd: string;
}

/** What nobody wrote: absolute paths, and the providers that come by themselves. */
function settleConfig(checked: Config, { env, cwd, warnings, ...about }: Surroundings): LoadedConfig {
  const config = structuredClone(checked);
  const { storage, catalog, providers } = config;
  storage.url = settleStorageUrl(storage.url, about.dataDir, cwd);
  if (catalog.overrides !== undefined) catalog.overrides = resolve(cwd, catalog.overrides);
  const discovered = catalog.auto_discover ? discoverProviders(providers, env) : [];
  providers.push(...discovered.map(({ provider }) => structuredClone(provider)));
  const isBare = providers.length === 0 && catalog.simulator;
  if (isBare) providers.push(structuredClone(simulatorProvider));
  return {
    ...about,
    config: deepFreeze(config),
    warnings: [...warnings, ...findUnusedSettings(config), ...findSuspiciousPrices(providers)],
    isBare,
    discovered: discovered.map(({ variable, provider }) => ({ variable, id: provider.id })),
  };
}

function findFile(named: string | undefined, cwd: string): string | undefined {
  if (named) return resolve(cwd, named);
  const usual = resolve(cwd, 'headgate.yaml');
  return existsSync(usual) ? usual : undefined;
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'is a folder; name the file in it',
  EACCES: 'may not be read by this user',
};

/** @throws {ConfigError} when there is no file, or it is no YAML */
function readFile(file: string, shownFile: string): FileTree {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
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

/** For messages: relative to the working directory when it is in there. */
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

/** Would it be told only since something else is wrong? What is missing may be there under a wrong name. */
function isFollowUp({ path, leansOn = [] }: RelationProblem, config: Config, wrong: readonly Path[]): boolean {
  const around = getIn(config, path) === undefined ? [path.slice(0, -1)] : [];
  const grounds = [path, ...leansOn, ...around];
  return grounds.some((ground) => wrong.some((bad) => touches(bad, ground)));
}

const touches = (one: Path, other: Path) => startsWith(one, other) || startsWith(other, one);

/** Is it a wrong name for a step on the way to `path`? Then the value at `path` is not what was written. */
function isMeant(wrong: Path, path: Path): boolean {
  const depth = wrong.length - 1;
  const [key, step] = [wrong[depth], path[depth]];
  if (typeof key !== 'string' || step === undefined || !startsWith(path, wrong.slice(0, depth))) return false;
  const known = Object.keys(findNode(wrong.slice(0, depth))?.properties ?? {});
  return !known.includes(key) && findNearestName(key, known) === step;
}

const startsWith = (path: Path, start: Path) => start.every((step, index) => path[index] === step);
const findOverride = (overrides: readonly Override[], path: Path) =>
  overrides.findLast((override) => startsWith(path, override.path));

function settleStorageUrl(url: string, dataDir: string, cwd: string): string {
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
