import { parse } from 'yaml';
import { docsUrl } from '../domain/docs-url.ts';
import { findNearestName } from '../domain/nearest-name.ts';
import type { Problem } from './interpolate.ts';
import { getIn, isMapping, type Path } from './path.ts';
import { findNode, rootNode, type SchemaNode } from './schema-node.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A value that overrides the file. */
export interface Override {
  path: Path;
  value: unknown;
  /** The source, for messages: `HEADGATE_SERVER_PORT`, `--port`. */
  source: string;
}

export interface Overrides {
  overrides: Override[];
  problems: (Problem & { source: string })[];
  warnings: string[];
}

const prefix = 'HEADGATE_';
/** Variables that other code reads, or that users and test benches set. */
/** The variables that Kubernetes sets for a service with the name of this program, such as `HEADGATE_SERVER_PORT`. */
const isServiceLink = (name: string, text: string): boolean =>
  /_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
  (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(text));
const otherNames = new Set(['HEADGATE_CONFIG', 'HEADGATE_DATA', 'HEADGATE_KEY', 'HEADGATE_URL']);
/** A later name of the same path wins. */
const shortNames: Record<string, Path> = {
  DATABASE_URL: ['storage', 'url'],
  HEADGATE_MASTER_KEY: ['secrets', 'master_key'],
  OTEL_SERVICE_NAME: ['telemetry', 'service_name'],
  REDIS_URL: ['counters', 'url'],
  VALKEY_URL: ['counters', 'url'],
};

/**
 * Reads the overrides from the environment, shorter paths before longer ones. An empty variable counts as not set.
 *
 * @param tree the file, for the keys of open maps such as `headers`
 * @param interpolated names that the file uses; they are never reported as unknown
 */
export function readOverrides(env: Environment, tree: unknown, interpolated: ReadonlySet<string>): Overrides {
  const found: Overrides = { overrides: [], problems: [], warnings: [] };
  for (const [name, path] of Object.entries(shortNames)) {
    const value = cutLineBreak(env[name]);
    if (value) found.overrides.push({ path, value, source: name });
  }
  const named = Object.entries(env).flatMap(([name, whole]) => {
    const text = cutLineBreak(whole);
    if (!name.startsWith(prefix) || !text || name in shortNames || otherNames.has(name) || isServiceLink(name, text))
      return [];
    const path = matchPath(rootNode, name.slice(prefix.length), tree);
    if (path) return [{ name, text, path }];
    if (!interpolated.has(name)) found.warnings.push(...warnUnknown(name));
    return [];
  });
  named.sort(
    (a, b) =>
      a.path.length - b.path.length || formatName(a.path).localeCompare(formatName(b.path), 'en', { numeric: true }),
  );
  for (const { name, text, path } of named) {
    try {
      found.overrides.push({ path, value: readText(text, findNode(path)), source: name });
    } catch {
      found.problems.push({ path, message: 'is neither YAML nor JSON', source: name });
    }
  }
  return found;
}

/** Cuts the line break at the end, which values from files have. */
const cutLineBreak = (text: string | undefined): string | undefined => text?.replace(/\r?\n$/, '');

/** The variable that overrides the value at a path. */
const formatName = (path: Path): string =>
  prefix +
  path
    .map((step) =>
      String(step)
        .toUpperCase()
        .replaceAll(/[^A-Z0-9]/g, '_'),
    )
    .join('_');

function matchPath(node: SchemaNode | undefined, rest: string, tree: unknown): Path | undefined {
  if (rest === '') return [];
  for (const [key, property] of Object.entries(node?.properties ?? {})) {
    const upper = key.toUpperCase();
    if (rest !== upper && !rest.startsWith(`${upper}_`)) continue;
    const below = matchPath(property, rest.slice(upper.length + 1), getIn(tree, [key]));
    if (below) return [key, ...below];
  }
  const items = node?.items ?? node?.anyOf?.find((one) => one.items)?.items;
  const [, index, , below = ''] = /^(\d{1,4})(_(.+))?$/.exec(rest) ?? [];
  if (items && index !== undefined) {
    const path = matchPath(items, below, getIn(tree, [Number(index)]));
    return path && [Number(index), ...path];
  }
  return node?.patternProperties && [matchMapKey(node, rest, tree)];
}

/** Returns an existing key, or a new one: `X_TITLE` is the header `x-title`, or the setting `x_title`. */
function matchMapKey(node: SchemaNode, rest: string, tree: unknown): string {
  const there = isMapping(tree) ? Object.keys(tree) : [];
  const known = there.find((key) => formatName([key]) === prefix + rest);
  const [values] = Object.values(node.patternProperties ?? {});
  return known ?? (values?.type === 'string' ? rest.toLowerCase().replaceAll('_', '-') : rest.toLowerCase());
}

/** Parses mappings, lists of mappings and dialect settings as YAML or JSON. Returns all other text unchanged. */
function readText(text: string, node: SchemaNode | undefined): unknown {
  const isPlain = node?.type !== 'object' && (node?.type !== 'array' || node.items?.type === 'string');
  const isList = (node?.items || node?.anyOf?.some((one) => one.items)) && text.trimStart().startsWith('[');
  const isMap = node?.anyOf?.some((one) => one.properties) && text.trimStart().startsWith('{');
  const isOpen = node?.type === undefined && !node?.anyOf && !node?.enum && node?.const === undefined;
  return isPlain && !isList && !isMap && !isOpen ? text : parse(text);
}

/** Returns a warning for a variable that sets nothing, if its name resembles one that does. */
function warnUnknown(name: string): string[] {
  const rest = name.slice(prefix.length);
  const leaves = [...listLeaves(rootNode)];
  const sameKey = leaves.filter((path) => String(path.at(-1)).toUpperCase() === rest);
  const names = leaves.map(formatName);
  const depth = Math.min(...sameKey.map((path) => path.length));
  const [outermost, another] = sameKey.filter((path) => path.length === depth); // the port of the server before others
  const nearest = outermost && !another ? formatName(outermost) : findNearestName(name, names);
  if (nearest !== undefined) return [`${name} sets nothing; the nearest name that does is ${nearest}.`];
  const isOurs = Object.keys(rootNode.properties ?? {}).some((key) => rest.startsWith(`${key.toUpperCase()}_`));
  return isOurs ? [`${name} sets nothing. See ${docsUrl('reference/configuration')}.`] : [];
}

/** Yields the path of every single value. A list has the index 0. */
function* listLeaves(node: SchemaNode, path: Path = []): Generator<Path> {
  if (node.properties) {
    for (const [key, property] of Object.entries(node.properties)) yield* listLeaves(property, [...path, key]);
  } else if (node.items?.properties) yield* listLeaves(node.items, [...path, 0]);
  else yield path;
}
