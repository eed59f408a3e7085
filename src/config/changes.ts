import { isDeepStrictEqual } from 'node:util';
import { formatPath, getIn, type Path } from './path.ts';
import type { Config } from './schema.ts';
import { rootNode, type SchemaNode } from './schema-node.ts';

/** The changes of a reload. Keys are like `log.level`. A list of mappings is one key. */
export interface Changes {
  /** Changed keys that apply at once. */
  live: string[];
  /** Changed keys that keep their old values until the next start. */
  restart: string[];
  /** The new configuration, with the old values where a restart is needed. */
  config: Config;
}

/** Compares two configurations key by key. The schema says which keys need a restart. */
export function findChanges(running: Config, saved: Config): Changes {
  const live: string[] = [];
  const restart: string[] = [];

  function merge(node: SchemaNode, path: Path): unknown {
    const old = getIn(running, path);
    const next = getIn(saved, path);
    if (node.properties && old !== undefined && next !== undefined) {
      const keys = Object.entries(node.properties);
      const merged = keys.map(([key, property]): [string, unknown] => [key, merge(property, [...path, key])]);
      return Object.freeze(Object.fromEntries(merged.filter(([, value]) => value !== undefined)));
    }
    if (isDeepStrictEqual(old, next)) return old;
    (node.restart ? restart : live).push(formatPath(path));
    return node.restart ? old : next;
  }
  // Every value comes from one of two configurations, each under the key where the schema wants it.
  const config = merge(rootNode, []) as Config;
  return { live, restart, config };
}
