import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { imageSchema } from '../../src/requests/images/schema.ts';
import { requestSchema } from '../../src/requests/responses/schema.ts';
import { findKinds } from '../../src/schema/by-kind.ts';

const root = join(import.meta.dirname, '../..');

/** The parts of a JSON schema that can hold other schemas or names. */
interface SchemaNode {
  properties?: Record<string, TSchema>;
  additionalProperties?: TSchema | boolean;
  items?: TSchema;
  anyOf?: TSchema[];
  enum?: unknown[];
  const?: unknown;
}

/** Adds every field name and every string that a schema accepts to `words`. */
function collectWords(schema: TSchema, words: Set<string>, visited = new Set<TSchema>()): void {
  if (visited.has(schema)) return;
  visited.add(schema);
  const node: SchemaNode = schema;
  const inner = [...(node.anyOf ?? []), ...Object.values(node.properties ?? {})];
  if (node.items) inner.push(node.items);
  if (typeof node.additionalProperties === 'object') inner.push(node.additionalProperties);
  for (const name of Object.keys(node.properties ?? {})) words.add(name);
  for (const value of [...(node.enum ?? []), node.const]) if (typeof value === 'string') words.add(value);
  for (const [kind, each] of findKinds(schema)?.schemas ?? []) {
    words.add(kind);
    inner.push(each);
  }
  for (const each of inner) collectWords(each, words, visited);
}

/** The text in backticks on these pages, which is where a reference page names fields and values. */
const codesOf = (pages: readonly string[]): string =>
  pages
    .map((page) => readFileSync(join(root, 'docs/reference', page), 'utf8'))
    .flatMap((text) => text.replace(/^```[\s\S]*?^```$/gm, '').match(/`[^`]+`/g) ?? [])
    .join(' ');

const escapePattern = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

describe('the reference names every field and value that the schema accepts', () => {
  it.each([
    {
      route: 'POST /responses',
      schema: requestSchema,
      pages: ['responses.md', 'items.md', 'tools.md', 'routing.md', 'routers.md', 'plugins.md'],
    },
    { route: 'POST /images', schema: imageSchema, pages: ['images.md', 'routing.md', 'responses.md'] },
  ])('of $route', ({ schema, pages }) => {
    const words = new Set<string>();
    collectWords(schema, words);
    const codes = codesOf(pages);

    expect(words.size).toBeGreaterThan(15);
    expect([...words].filter((word) => !new RegExp(`(?<![\\w-])${escapePattern(word)}(?![\\w-])`).test(codes))).toEqual(
      [],
    );
  });
});
