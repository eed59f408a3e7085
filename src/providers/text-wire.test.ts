import { expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { wires } from './index.ts';
import { getTextWire } from './text-wire.ts';

it.each(
  [...wires.values()].filter(({ text }) => !text),
)('$id generates images only and names the path for them', (wire) => {
  expect(wire.image).toBeDefined();
  expect(() => getTextWire(wire)).toThrow(GatewayError);
  expect(() => getTextWire(wire)).toThrow(
    `The wire ${wire.id} generates images only: send the request to POST /images.`,
  );
});
