import { readFileSync } from 'node:fs';
import { Compile } from 'typebox/schema';
import { expect } from 'vitest';
import { pickDefinitions } from '../interface/pick-definitions.ts';

const file = new URL('../interface/images.schema.json', import.meta.url);
const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, object> };
function compile(name: string) {
  const shape = { $ref: `#/$defs/${name}` };
  return Compile({ $defs: pickDefinitions(shape, $defs), ...shape } as object);
}
const shapes = new Map<string, ReturnType<typeof compile>>();

/** Checks a value against a shape of the interface. */
export function expectImageShape(shape: string, value: unknown): void {
  const check = shapes.get(shape) ?? compile(shape);
  shapes.set(shape, check);
  if (!check.Check(value)) expect.fail(JSON.stringify(check.Errors(value)));
}
