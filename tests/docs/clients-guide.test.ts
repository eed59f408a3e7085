import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { examplesConfig, runExamples } from './run-examples.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway(examplesConfig);
});
afterAll(() => gateway.close());

it('every TypeScript example of the guide of clients runs, and prints something', async () => {
  const runs = await runExamples('docs/guides/clients.md', 'ts', gateway);
  expect(runs.length).toBeGreaterThan(10);
  expect(runs.filter(({ error, output }) => error !== undefined || output.trim() === '')).toEqual([]);
});
