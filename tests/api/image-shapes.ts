import { readFileSync } from 'node:fs';
import { Compile } from 'typebox/schema';
import { expect } from 'vitest';

const file = new URL('../interface/images.schema.json', import.meta.url);
const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, object> };
const compile = (shape: string) => Compile({ $defs, $ref: `#/$defs/${shape}` } as object);
const shapes = new Map<string, ReturnType<typeof compile>>();

/** Checks a value against a shape of the interface. */
export function expectImageShape(shape: string, value: unknown): void {
  const check = shapes.get(shape) ?? compile(shape);
  shapes.set(shape, check);
  expect(check.Check(value), JSON.stringify(check.Errors(value))).toBe(true);
}
