import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { findNearestName } from '../domain/nearest-name.ts';
import { explainIssues } from '../schema/explain-issues.ts';
import { Report } from '../schema/report.ts';
import type { Problem } from './interpolate.ts';
import { isMapping, type Path } from './path.ts';
import { isSecret, rootNode, type SchemaNode } from './schema-node.ts';
import { readByteSize } from './size.ts';

export interface SchemaCheck {
  /**
   * The tree with converted texts and all defaults. A placeholder of the right type replaces each invalid value, so
   * that the rest can still be checked.
   */
  tree: Record<string, unknown>;
  problems: Problem[];
}

/**
 * Validates a tree against the schema and returns all problems.
 *
 * @param mayShow false for values that must not appear in a message, besides the secrets of the schema
 */
export function checkSchema(tree: Record<string, unknown>, mayShow: (path: Path) => boolean): SchemaCheck {
  const problems: Problem[] = [];

  function visit(node: SchemaNode, given: unknown, path: Path): unknown {
    const value = convert(node, given);
    const shape = isMapping(value) ? node.anyOf?.find(({ properties }) => properties) : undefined;
    if (shape) return visit(shape, value, path);
    if (node.properties && isMapping(value)) return visitMapping(node, node.properties, value, path);
    if (node.type === 'array' && Array.isArray(value)) {
      const before = problems.length;
      const items = value.map((item, index) => visit(node.items ?? {}, item, [...path, index]));
      if (problems.length === before) checkLeaf(node, items, path);
      return items;
    }
    if (node.patternProperties && isMapping(value)) return visitMap(node.patternProperties, value, path);
    return checkLeaf(node, value, path) ? value : createPlaceholder(node);
  }

  function visitMapping(
    node: SchemaNode,
    properties: Record<string, SchemaNode>,
    value: Record<string, unknown>,
    path: Path,
  ): Record<string, unknown> {
    const meant = new Set<string | undefined>(); // a misspelled key is not also missing
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(properties, key)) continue;
      if (path.length === 0 && key.startsWith('x-')) continue; // the place of anchors, as in Compose
      const nearest = findNearestName(key, Object.keys(properties));
      meant.add(nearest);
      const hint = nearest === undefined ? '' : `; the nearest known key is "${nearest}"`;
      problems.push({ path: [...path, key], message: `unknown key${hint}` });
    }
    const result: Record<string, unknown> = {};
    for (const [key, property] of Object.entries(properties)) {
      // "limits:" without a value is null in YAML and means "not set"
      let item = (Object.hasOwn(value, key) ? value[key] : undefined) ?? structuredClone(property.default);
      const isRequired = node.required?.includes(key) ?? false;
      if (item === undefined && isRequired && property.properties) item = {};
      if (item !== undefined) result[key] = visit(property, item, [...path, key]);
      else if (isRequired) {
        if (!meant.has(key)) problems.push({ path: [...path, key], message: 'is missing' });
        result[key] = createPlaceholder(property);
      }
    }
    return result;
  }

  function visitMap(patterns: Record<string, SchemaNode>, value: Record<string, unknown>, path: Path) {
    const result: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      const found = Object.entries(patterns).find(([pattern]) => new RegExp(pattern, 'u').test(key));
      if (found) result[key] = visit(found[1], item, [...path, key]);
      else problems.push({ path: [...path, key], message: 'the name contains a character that is not allowed here' });
    }
    return result;
  }

  /** @returns false if the value is invalid */
  function checkLeaf(node: SchemaNode, value: unknown, path: Path): boolean {
    const schema = node as unknown as TSchema; // a node is a TypeBox type, see schema-node.ts
    if (Schema.Check(schema, value)) return true;
    const report = new LeafReport(mayShow(path) && !isSecret(path));
    explainIssues(schema, value, '', report);
    for (const { message } of report.issues.slice(0, 1)) problems.push({ path, message });
    return false;
  }

  return { tree: visit(rootNode, tree, []) as Record<string, unknown>, problems }; // a mapping, because the root is one
}

/** Returns a placeholder of the type of a node. */
function createPlaceholder(node: SchemaNode): unknown {
  if (node.properties) {
    const needed = Object.entries(node.properties).filter(
      ([key, { default: usual }]) => usual !== undefined || node.required?.includes(key),
    );
    return Object.fromEntries(needed.map(([key, property]) => [key, createPlaceholder(property)]));
  }
  if (node.default !== undefined) return structuredClone(node.default);
  if (node.anyOf) return createPlaceholder(node.anyOf[0]!);
  if (node.type === 'array') return [];
  if (node.patternProperties) return {};
  if (node.type === 'integer' || node.type === 'number') return 0;
  return node.type === 'boolean' ? false : '';
}

/** Converts text from the environment, or from `${NAME}`, to the type of the schema if it is unambiguous. */
function convert(node: SchemaNode, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (node.unit === 'bytes') return readByteSize(value) ?? value;
  if ((node.type === 'integer' || node.type === 'number') && /^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  if (node.type === 'boolean')
    return /^(?:true|yes|on|1)$/i.test(value) || (/^(?:false|no|off|0)$/i.test(value) ? false : value);
  if (node.type === 'array' && (node.items?.type === 'string' || node.items?.enum)) {
    return value.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
  }
  return value;
}

/** Explains one value of the file. Its path precedes the message. */
class LeafReport extends Report {
  private readonly mayShow: boolean;

  constructor(mayShow: boolean) {
    super();
    this.mayShow = mayShow;
  }

  override add(path: string, says: string): void {
    this.take({ path, message: says });
  }

  override fork(): LeafReport {
    return new LeafReport(this.mayShow);
  }

  override show(value: unknown): string | undefined {
    const shown = super.show(value);
    return this.mayShow && !hasCredentials.test(shown ?? '') ? shown : undefined;
  }
}

/** `https://ada:secret@host`: misplaced credentials must not appear in a log. */
const hasCredentials = /\/\/[^/\s]*@/;
