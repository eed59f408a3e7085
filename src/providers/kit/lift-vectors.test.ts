import { array, assert, float, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertVector, decodeFloats, encodeFloats } from './convert-vector.ts';
import { liftVectors, readLifted, readVector } from './lift-vectors.ts';

const finite = float({ noNaN: true, noDefaultInfinity: true });

describe('vectors', () => {
  it('survive every change of their format, -0 as 0', () => {
    assert(
      property(array(finite, { minLength: 1, maxLength: 100 }), (numbers) => {
        const texts = numbers.map((number) => (Object.is(number, -0) ? '-0' : JSON.stringify(number)));
        const body = Buffer.from(`{"a":[{"v":[${texts.join(',')}]}]}`);
        const { json, vectors } = liftVectors(body);
        expect(json.toString()).toBe('{"a":[{"v":"~0~"}]}');
        const encoded = convertVector(vectors[0]!, 'base64');
        expect(Array.from(decodeFloats(encoded.bytes.toString()))).toEqual(Array.from(Float32Array.from(numbers)));
        expect(JSON.parse(convertVector(encoded, 'float').bytes.toString())).toEqual(
          JSON.parse(JSON.stringify(Array.from(Float32Array.from(numbers)))), // JSON.stringify writes -0 as 0
        );
        expect(convertVector(encoded, 'base64')).toBe(encoded);
      }),
      { numRuns: 50, examples: [[[-0, 0]]] },
    );
  });

  it('are little-endian', () => {
    expect(encodeFloats([1, -2])).toBe('AACAPwAAAMA=');
  });

  it('keep their text if the format does not change', () => {
    const text = '[ 1e-3, -0.50 ,\n2E+2,0]';
    const [vector] = liftVectors(Buffer.from(`{"v":${text}}`)).vectors;

    expect(vector).toEqual({ format: 'float', bytes: Buffer.from(text), length: 4 });
  });

  it('are found as long base64, and read from short base64', () => {
    const long = encodeFloats(Array.from({ length: 64 }, (_, at) => at / 64));
    const { json, vectors } = liftVectors(Buffer.from(`{"name":"sixteenlettersxx","v":"${long}"}`));

    expect(json.toString()).toBe('{"name":"sixteenlettersxx","v":"~0~"}');
    expect(readLifted(vectors, () => readVector('~0~'))).toMatchObject({ format: 'base64', length: 64 });
    expect(readVector('AACAPwAAAMA=')).toMatchObject({ format: 'base64', length: 2 });
  });

  it.each([
    '[]',
    '[1,]',
    '[01]',
    '[1.]',
    '[.5]',
    '[1e]',
    '[--1]',
    '[+1]',
    '[1 2]',
    '[NaN]',
    '["1"]',
    '[[1],2',
    '[1',
  ])('are not %s', (text) => {
    expect(liftVectors(Buffer.from(`{"v":${text}`)).vectors.filter(({ length }) => length !== 1)).toEqual([]);
  });

  it.each([
    undefined,
    null,
    5,
    '',
    'AAAA',
    'AACA-wAAAMA=',
    'AACA wAAAMA=',
    'AACA=wAAAMA=',
    '~0~',
    '~x~',
    [],
    {},
  ])('are not read from %j', (value) => {
    expect(() => readVector(value)).toThrow('There is no vector.');
  });

  it('are not numbers that JSON does not have', () => {
    const infinite = readVector(encodeFloats([1, Number.POSITIVE_INFINITY]));

    expect(() => convertVector(infinite, 'float')).toThrow('is not finite');
  });

  it('are not searched in texts', () => {
    const body = Buffer.from(JSON.stringify({ text: 'a "quoted\\" [1,2]', other: '\\' }));

    expect(liftVectors(body)).toEqual({ json: body, vectors: [] });
  });
});
