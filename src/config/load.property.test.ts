// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { isFull } from '../testing/full.ts';
import { stringify } from 'yaml';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import { rootNode, type SchemaNode } from './schema-node.ts';

const cwd = mkdtempSync(join(tmpdir(), 'headgate-property-'));
afterAll(() => rmSync(cwd, { recursive: true }));

/** An almost valid file: known keys with values of any kind. */
function nearly(node: SchemaNode): fc.Arbitrary<unknown> {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('', '${', '$${A}', '${GONE}', '*', '-1', 'postgres://', 'file:'),
  );
  if (node.properties) {
    const fields = Object.entries(node.properties).map(([key, property]) => [key, nearly(property)] as const);
    return fc.oneof(
      { weight: 9, arbitrary: fc.record(Object.fromEntries(fields), { requiredKeys: [] }) },
      { weight: 1, arbitrary: odd },
    );
  }
  if (node.items)
    return fc.oneof(
      { weight: 9, arbitrary: fc.array(nearly(node.items), { maxLength: 3 }) },
      { weight: 1, arbitrary: odd },
    );
  if (node.enum) return fc.oneof(fc.constantFrom(...node.enum), odd);
  return odd;
}

it('returns a configuration or a list of problems for every file', () => {
  fc.assert(
    fc.property(nearly(rootNode), (tree) => {
      writeFileSync(join(cwd, 'headgate.yaml'), stringify(tree));
      try {
        expect(Object.isFrozen(loadConfig({ env: {}, cwd }).config)).toBe(true);
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        expect(error.problems.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: isFull ? 120 : 25 },
  );
});

it('reads any text without other errors', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,-$&*!|>"\'#\n\t ab1%@`?') }), (text) => {
      writeFileSync(join(cwd, 'headgate.yaml'), text);
      try {
        loadConfig({ env: {}, cwd });
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
      }
    }),
    { numRuns: isFull ? 300 : 100 },
  );
});
