import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { chatSchema } from '../../src/requests/chat/schema.ts';
import { completionSchema } from '../../src/requests/completions/schema.ts';
import { imageSchema } from '../../src/requests/images/schema.ts';
import { geminiSchema } from '../../src/requests/gemini/schema.ts';
import { messagesSchema } from '../../src/requests/messages/schema.ts';
import { requestSchema } from '../../src/requests/responses/schema.ts';
import type { BodyCheck } from '../../src/management/check-body.ts';
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

const toolPages = globSync('tools/*.md', { cwd: join(root, 'docs/reference') });

/** The text in backticks on these pages, which is where a reference page names fields and values. */
const codesOf = (pages: readonly string[]): string =>
  pages
    .map((page) => readFileSync(join(root, 'docs/reference', page), 'utf8'))
    .flatMap((text) => text.replace(/^```[\s\S]*?^```$/gm, '').match(/`[^`]+`/g) ?? [])
    .join(' ');

const escapePattern = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const isBodyCheck = (value: unknown): value is BodyCheck => typeof value === 'function' && 'schema' in value;

/** Every body of the management API, by the name of its check. */
const managementBodies: { name: string; schema: TSchema }[] = [];
for (const path of globSync('src/management/*/schema.ts', { cwd: root })) {
  const module = (await import(join(root, path))) as Record<string, unknown>;
  for (const [name, check] of Object.entries(module)) {
    if (isBodyCheck(check)) managementBodies.push({ name, schema: check.schema });
  }
}

/** Returns the fields and values of a schema that the pages do not name, and how many there are. */
function findUnnamed(schema: TSchema, pages: readonly string[]): { unnamed: string[]; total: number } {
  const words = new Set<string>();
  collectWords(schema, words);
  const codes = codesOf(pages);
  const isNamed = (word: string) => new RegExp(`(?<![\\w-])${escapePattern(word)}(?![\\w-])`).test(codes);
  return { unnamed: [...words].filter((word) => !isNamed(word)), total: words.size };
}

describe('the reference names every field and value that the schema accepts', () => {
  it.each([
    {
      route: 'POST /responses',
      schema: requestSchema,
      pages: ['responses.md', 'items.md', 'tools.md', 'routing.md', 'routers.md', 'plugins.md', ...toolPages],
    },
    {
      route: 'POST /chat/completions',
      schema: chatSchema,
      pages: [
        'chat-completions.md',
        'responses.md',
        'tools.md',
        'routing.md',
        'routers.md',
        'plugins.md',
        ...toolPages,
      ],
    },
    {
      route: 'POST /completions',
      schema: completionSchema,
      pages: [
        'completions.md',
        'chat-completions.md',
        'tools.md',
        'responses.md',
        'routing.md',
        'routers.md',
        'plugins.md',
        ...toolPages,
      ],
    },
    {
      route: 'POST /messages',
      schema: messagesSchema,
      pages: ['messages.md', 'responses.md', 'tools.md', 'routing.md', 'routers.md', 'plugins.md', ...toolPages],
    },
    {
      route: 'POST /v1beta/models/{model}:generateContent',
      schema: geminiSchema,
      pages: ['gemini.md', 'responses.md', 'tools.md', 'routing.md', 'routers.md', 'plugins.md', ...toolPages],
    },
    { route: 'POST /images', schema: imageSchema, pages: ['images.md', 'routing.md', 'responses.md'] },
  ])('of $route', ({ schema, pages }) => {
    const { unnamed, total } = findUnnamed(schema, pages);
    expect(total).toBeGreaterThan(15);
    expect(unnamed).toEqual([]);
  });

  it.each(managementBodies)('of the management body of $name', ({ schema }) => {
    const { unnamed, total } = findUnnamed(schema, [
      'management.md',
      'interns.md',
      'presets.md',
      'vault.md',
      'plugins.md',
      'routers.md',
      'tools.md',
      ...toolPages,
    ]);
    expect(total).toBeGreaterThan(0);
    expect(unnamed).toEqual([]);
  });

  it('of every management resource', () => {
    expect(managementBodies.map(({ name }) => name).sort()).toEqual([
      'checkCopySecrets',
      'checkCreateGuardrail',
      'checkCreateIntern',
      'checkCreateKey',
      'checkCreatePreset',
      'checkCreateWorkspace',
      'checkDeleteIntern',
      'checkFeedback',
      'checkKeyHashes',
      'checkMemberIds',
      'checkMemberUserIds',
      'checkPresetSlug',
      'checkProvisionKey',
      'checkPutBudget',
      'checkPutSecret',
      'checkRotateKey',
      'checkSecretName',
      'checkTestGuardrail',
      'checkUpdateGuardrail',
      'checkUpdateIntern',
      'checkUpdateKey',
      'checkUpdateMember',
      'checkUpdatePreset',
      'checkUpdateWorkspace',
    ]);
  });
});
