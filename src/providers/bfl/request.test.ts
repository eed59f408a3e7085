import { assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EndpointImageRequest } from '../../domain/images.ts';
import { findFamily } from './families.ts';
import { fitGrid, writeImageRequest } from './request.ts';

const plain: EndpointImageRequest = {
  prompt: 'A red fox',
  count: 1,
  references: [],
  passthrough: {},
  size: undefined,
  aspectRatio: undefined,
  resolution: undefined,
  quality: undefined,
  format: undefined,
  compression: undefined,
  background: undefined,
  seed: undefined,
};
const write = (model: string, request: Partial<EndpointImageRequest>) =>
  writeImageRequest(
    { ...plain, ...request },
    { endpoint: 'm at P', upstreamModel: model, stream: false, dialect: {} },
    { poll_ms: 500 },
  );

it.each(['flux-2-pro', 'flux-pro-1.1'])('any size finds its place on the grid of %s', (model) => {
  const { shape } = findFamily(model);
  if (shape === 'ratio') throw new Error('It has a grid.');
  const edge = integer({ min: shape.min, max: shape.max });
  assert(
    property(record({ width: edge, height: edge }), (size) => {
      const fitted = fitGrid(size, shape);
      for (const [name, pixels] of Object.entries(fitted)) {
        expect(pixels % shape.step, name).toBe(0);
        expect(pixels).toBeGreaterThanOrEqual(shape.min);
        expect(pixels).toBeLessThanOrEqual(shape.max);
      }
      expect(fitted.width * fitted.height).toBeLessThanOrEqual(shape.area);
      expect(fitGrid(fitted, shape)).toEqual(fitted);
    }),
  );
});

describe('the shape of an image', () => {
  it.each([
    ['flux-2-pro', { aspectRatio: '16:9' }, { width: 1360, height: 768 }],
    ['flux-2-pro', { aspectRatio: '16:9', resolution: '2K' }, { width: 2720, height: 1520 }],
    ['flux-2-pro', { resolution: '2K' }, { width: 2048, height: 2048 }],
    ['flux-2-pro', { aspectRatio: 'auto' }, {}],
    ['flux-2-pro', {}, {}],
    ['flux-pro-1.1', { aspectRatio: '21:9' }, { width: 1440, height: 608 }],
    ['flux-kontext-max', { aspectRatio: '9:16' }, { aspect_ratio: '9:16' }],
    ['flux-kontext-max', { aspectRatio: 'auto' }, {}],
    ['flux-pro-1.1-ultra', { aspectRatio: '21:9', resolution: '2K' }, { aspect_ratio: '21:9' }],
  ] as const)('%s, with %j', (model, request, fields) => {
    expect(write(model, request).body).toEqual({ prompt: 'A red fox', ...fields });
  });

  it('is that of the first reference, if only a tier is requested', () => {
    const shown = { bytes: Buffer.from('x'), mediaType: 'image/png', width: 400, height: 100 } as const;
    expect(write('flux-2-pro', { resolution: '1K', references: [shown] }).body).toMatchObject({
      width: 2048,
      height: 512,
      input_image: 'eA==',
    });
  });
});

it('is that of the interface, if the options of the provider differ', () => {
  const { body } = write('flux-2-pro', { seed: 7, passthrough: { seed: 8, safety_tolerance: 5 } });
  expect(body).toEqual({ prompt: 'A red fox', seed: 7, safety_tolerance: 5 });
});

it('keeps the name of a model within its place of the path', () => {
  expect(write('../secrets?x=1', {}).path).toBe('/..%2Fsecrets%3Fx%3D1');
});

it.each([
  'flux-2-pro',
  'flux-kontext-pro',
  'flux-pro-1.1',
  'new-9',
  '*',
])('does not let callers redirect %s', (model) => {
  expect(findFamily(model).facts.passthrough).not.toContain('webhook_url');
});

it.each(['.', '..', ''])('a model named %j is refused: it would lead to another path, with the key', (model) => {
  expect(() => write(model, {})).toThrow(`m at P: "${model}" is not the name of a model.`);
});

it('a model whose name has a slash stays one part of the path', () => {
  expect(write('../../v2/flux', {}).path).toBe('/..%2F..%2Fv2%2Fflux');
});
