import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { createFakeContainers } from '../tools/fake-containers.ts';

const page = readFileSync(new URL('../../docs/guides/server-tools.md', import.meta.url), 'utf8');
const requests = [...page.matchAll(/<!-- request (\w+) -->\n```json\n([\s\S]*?)```/g)].map(([, name, body]) => ({
  name,
  body: JSON.parse(body!) as { tools: { type: string }[] },
}));

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({}, undefined, { containers: createFakeContainers() });
});
afterAll(() => gateway.close());

describe('the guide of server tools', () => {
  it('has requests', () => expect(requests.length).toBeGreaterThan(1));

  it.each(requests)('shows a request that works: $name', async ({ name, body }) => {
    const response = await gateway.post('/responses', body);
    const { status, output } = (await response.json()) as ResponseObject;

    expect(response.status).toBe(200);
    expect(status).toBe('completed');
    const item = { type: body.tools[0]!.type, status: 'completed' };
    const calls = name === 'loop' ? [item, item] : [item];
    const end = name === 'search' ? { type: 'function_call', name: 'get_weather' } : { type: 'message' };
    expect(output).toMatchObject([...calls, end]);
  });

  it.each(['Asia/Tokyo', undefined])('tells the time in the zone of the request, or in UTC: %s', async (timezone) => {
    const [request] = requests;
    const tools = [{ type: 'router:datetime', parameters: { timezone } }];
    const response = await gateway.post('/responses', { ...request!.body, tools });
    const { output } = (await response.json()) as ResponseObject;
    expect(output[0]).toMatchObject({ type: 'router:datetime', timezone: timezone ?? 'UTC' });
  });

  it('shows the items and counts of its first response', async () => {
    const [request] = requests;
    const shown = JSON.parse(/```json\n(\{\n {2}"output"[\s\S]*?)```/.exec(page)![1]!) as ResponseObject;
    const response = await gateway.post('/responses', request!.body);
    const { output, usage } = (await response.json()) as ResponseObject;

    expect(output.map(({ type, status, timezone }) => ({ type, status, timezone }))).toMatchObject(
      shown.output.map(({ type, timezone }) => ({ type, timezone })),
    );
    expect(usage).toMatchObject(shown.usage!);
  });
});
