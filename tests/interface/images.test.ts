import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { expectImageShape } from '../api/image-shapes.ts';
import { draw } from '../api/images-lab.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

it.each([
  {},
  { n: 2 },
  { prompt: '[[usage none]] x' },
  { output_format: 'svg' },
])('POST /images returns an ImageGenerationResponse for %j', async (more) => {
  const { status, body } = await draw(gateway, { size: '64x64', ...more });
  expect(status).toBe(200);
  expectImageShape('ImageGenerationResponse', body);
});

it.each([
  {},
  { n: 2 },
  { output_format: 'svg' },
  { prompt: '[[break 1 500 Oh]] x' },
])('each event of a stream is an ImageStreamEvent: %j', async (more) => {
  const { events } = await draw(gateway, { size: '64x64', stream: true, ...more });
  expect(events.length).toBeGreaterThan(1);
  for (const event of events) expectImageShape('ImageStreamEvent', event);
});

it('the lists of image models are ImageModelsListResponse and ImageModelEndpointsResponse', async () => {
  expectImageShape('ImageModelsListResponse', await (await gateway.get('/images/models')).json());
  expectImageShape(
    'ImageModelEndpointsResponse',
    await (await gateway.get('/images/models/simulator/image/endpoints')).json(),
  );
});
