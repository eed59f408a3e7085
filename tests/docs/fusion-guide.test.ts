import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

const page = readFileSync(new URL('../../docs/guides/fusion.md', import.meta.url), 'utf8');
const requests = [...page.matchAll(/<!-- request (\w+) -->\n```json\n([\s\S]*?)```/g)].map(([, name, body]) => ({
  name,
  body: JSON.parse(body!) as object,
}));
const config = /```yaml\n# headgate\.yaml\n([\s\S]*?)```/.exec(page)![1]!;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway(parse(config) as Record<string, unknown>);
});
afterAll(() => gateway.close());

describe('the guide of fusion', () => {
  it('has requests', () => expect(requests).toHaveLength(3));

  it.each(requests)('shows a request that works: $name', async ({ body }) => {
    const response = await gateway.post('/responses', body);
    const { status, output } = (await response.json()) as ResponseObject;

    expect(response.status, JSON.stringify(output)).toBe(200);
    expect(status).toBe('completed');
    expect(output).toMatchObject([{ type: 'router:fusion', status: 'completed' }, { type: 'message' }]);
    expect(output[0]).toHaveProperty('analysis');
    expect(output[0]).not.toHaveProperty('failed_models');
  });

  it('shows the output of its first request', async () => {
    const shown = JSON.parse(/```json\n(\{\n {2}"output"[\s\S]*?)```/.exec(page)![1]!) as ResponseObject;
    const response = await gateway.post('/responses', requests[0]!.body);
    const { output } = (await response.json()) as ResponseObject;

    expect(output).toMatchObject(shown.output);
  });

  it('shows panels that the router uses', async () => {
    const body = { model: 'router/fusion', input: 'Why?', tool_choice: 'required' };
    const response = await gateway.post('/responses', body);
    const { model, output } = (await response.json()) as ResponseObject;

    expect(model).toBe('simulator/echo');
    expect(output[0]).toMatchObject({ responses: [{ model: 'simulator/echo' }, { model: 'simulator/writer' }] });
  });
});
