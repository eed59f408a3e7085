import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { findNearestName } from '../domain/nearest-name.ts';
import type { Problem } from './interpolate.ts';
import { isMapping, type Path } from './path.ts';
import { isSecret, nameType, rootNode, type SchemaNode } from './schema-node.ts';
import { readByteSize } from './size.ts';

export interface SchemaCheck {
  /**
   * The tree with texts turned into what the schema wants and every default filled in. Where something is wrong there is
   * a value of the right kind in its place, so that the rest can be looked at all the same.
   */
  tree: Record<string, unknown>;
  problems: Problem[];
}

/**
 * Holds a tree against the schema and finds all problems, not only the first.
 *
 * @param mayShow false for values that must not appear in a message, besides those the schema calls secret
 */
export function checkSchema(tree: Record<string, unknown>, mayShow: (path: Path) => boolean): SchemaCheck {
  const problems: Problem[] = [];

  function visit(node: SchemaNode, given: unknown, path: Path): unknown {
    const value = convert(node, given);
    if (node.properties && isMapping(value)) return visitMapping(node, node.properties, value, path);
    if (node.type === 'array' && Array.isArray(value)) {
      const before = problems.length;
      const items = value.map((item, index) => visit(node.items ?? {}, item, [...path, index]));
      if (problems.length === before) checkLeaf(node, items, path);
      return items;
    }
    if (node.patternProperties && isMapping(value)) return visitMap(node.patternProperties, value, path);
    return checkLeaf(node, value, path) ? value : standIn(node);
  }

  function visitMapping(
    node: SchemaNode,
    properties: Record<string, SchemaNode>,
    value: Record<string, unknown>,
    path: Path,
  ): Record<string, unknown> {
    const meant = new Set<string | undefined>(); // a key under a wrong name is not missing, too
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(properties, key)) continue;
      const nearest = findNearestName(key, Object.keys(properties));
      meant.add(nearest);
      const hint = nearest === undefined ? '' : `; the nearest known key is "${nearest}"`;
      problems.push({ path: [...path, key], message: `there is no such key${hint}` });
    }
    const result: Record<string, unknown> = {};
    for (const [key, property] of Object.entries(properties)) {
      // "limits:" with nothing below it is null in YAML, and means that nothing was said.
      let item = (Object.hasOwn(value, key) ? value[key] : undefined) ?? structuredClone(property.default);
      const isRequired = node.required?.includes(key) ?? false;
      if (item === undefined && isRequired && property.properties) item = {};
      if (item !== undefined) result[key] = visit(property, item, [...path, key]);
      else if (isRequired) {
        if (!meant.has(key)) problems.push({ path: [...path, key], message: 'is missing' });
        result[key] = standIn(property);
      }
    }
    return result;
  }

  function visitMap(patterns: Record<string, SchemaNode>, value: Record<string, unknown>, path: Path) {
    const result: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      const found = Object.entries(patterns).find(([pattern]) => new RegExp(pattern, 'u').test(key));
      if (found) result[key] = visit(found[1], item, [...path, key]);
      else problems.push({ path: [...path, key], message: 'the name holds a character that is not allowed here' });
    }
    return result;
  }

  /** @returns false when it is not what it must be */
  function checkLeaf(node: SchemaNode, value: unknown, path: Path): boolean {
    // A node is a TypeBox type, seen as a plain object; see schema-node.ts.
    const keywords = Value.Errors(node as unknown as TSchema, value).map((error) => error.keyword);
    if (keywords.length === 0) return true;
    const keyword = node.anyOf ? 'anyOf' : keywords[0]!;
    const got = mayShow(path) && !isSecret(path) && keyword !== 'minItems' ? show(value) + suggest(node, value) : '';
    problems.push({ path, message: explain(keyword, node) + got });
    return false;
  }

  return { tree: visit(rootNode, tree, []) as Record<string, unknown>, problems }; // a mapping stays one
}

/** The plainest value of the kind that a node wants. */
function standIn(node: SchemaNode): unknown {
  if (node.properties) {
    const needed = Object.entries(node.properties).filter(
      ([key, { default: usual }]) => usual !== undefined || node.required?.includes(key),
    );
    return Object.fromEntries(needed.map(([key, property]) => [key, standIn(property)]));
  }
  if (node.default !== undefined) return structuredClone(node.default);
  if (node.anyOf) return standIn(node.anyOf[0]!);
  if (node.type === 'array') return [];
  if (node.patternProperties) return {};
  if (node.type === 'integer' || node.type === 'number') return 0;
  return node.type === 'boolean' ? false : '';
}

/** Text from the environment, or from `${NAME}`, becomes what the schema wants, where that is plain. */
function convert(node: SchemaNode, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (node.unit === 'bytes') return readByteSize(value) ?? value;
  if ((node.type === 'integer' || node.type === 'number') && /^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  if (node.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (node.type === 'array' && (node.items?.type === 'string' || node.items?.enum)) {
    return value.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
  }
  return value;
}

function explain(keyword: string, node: SchemaNode): string {
  switch (keyword) {
    case 'minimum':
      return `must be ${node.minimum} or more`;
    case 'maximum':
      return `must be ${node.maximum} or less`;
    case 'minLength':
      return node.minLength === 1 ? 'must not be empty' : `must have ${node.minLength} or more characters`;
    case 'minItems':
      return 'must not be empty';
    case 'pattern':
      return `must be ${node.says}`;
    case 'enum':
    case 'const':
      return `must be ${nameType(node)}`;
    default: {
      const says = node.anyOf?.find((one) => one.says)?.says ?? `a ${nameType(node)}`;
      return `must be ${says}${node.unit === 'bytes' ? ' in bytes, or like 32MiB' : ''}`;
    }
  }
}

/** The word of a closed list that was probably meant. */
function suggest(node: SchemaNode, value: unknown): string {
  const meant = typeof value === 'string' && node.enum ? findNearestName(value, node.enum.map(String)) : undefined;
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? ', not a list' : ', not a mapping';
  const text = JSON.stringify(value) ?? '';
  const isLong = text.length > 60 || text === '""';
  return isLong || hasCredentials.test(text) ? '' : `, not ${text}`;
}

/** `https://ada:secret@host`: one who puts them where none may be shall not read them in a log. */
const hasCredentials = /\/\/[^/\s]*@/;
