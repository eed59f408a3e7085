import { expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { wires } from './index.ts';
import { getTextWire } from './text-wire.ts';

it.each(
  [...wires.values()].filter(({ text }) => !text),
)('$id generates no text and names the paths of what it does', (wire) => {
  const paths = { image: 'POST /images', embedding: 'POST /embeddings', rerank: 'POST /rerank' };
  const offered = Object.entries(paths).filter(([kind]) => wire[kind as keyof typeof paths] !== undefined);
  expect(offered).not.toEqual([]);
  expect(() => getTextWire(wire)).toThrow(GatewayError);
  expect(() => getTextWire(wire)).toThrow(
    `The wire ${wire.id} generates no text: send the request to ${offered.map(([, path]) => path).join(' or ')}.`,
  );
});
